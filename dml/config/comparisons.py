"""The comparisons that decide when a study with `seeds: auto` has enough seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dml.config.compare import pairs, score_key, without_toplines
from dml.config.study import Study


class Named(NamedTuple):
    """A comparison that more seeds may decide: two cells of the study by name, and the key of the score."""

    first: str
    second: str
    score: str


def named_comparisons(study: Study) -> list[Named]:
    """The comparisons that `seeds: auto` decides.

    Those of the study's `compare`; without any, the usual choice, the first cell of each
    dataset and noise rate, with each other cell there.
    """
    cells = study.cells()
    return list(dict.fromkeys(_own(study))) or [
        Named(first.name, cell.name, study.objective(cell.dataset))
        for cell in without_toplines(cells)
        for first in [next(c for c in cells if _condition(c) == _condition(cell))]
        if cell is not first
    ]


def _own(study: Study) -> Iterator[Named]:
    for one in study.compare:
        for (first,), (second,) in pairs(study.cells(), one.first, one.second, one.where, each=one.each):
            yield Named(first.name, second.name, score_key(study, first.dataset, one.score))


def _condition(cell: Any) -> tuple[str, str, float]:
    return cell.dataset, cell.noise, cell.rate
