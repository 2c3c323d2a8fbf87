"""The comparisons that decide when a study with `seeds: auto` has enough seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dml.config.claim_checks import score_key
from dml.config.claims import ClaimSection
from dml.config.pairing import pairs, without_toplines
from dml.config.study import Study


class Named(NamedTuple):
    """A comparison that more seeds may decide: two cells of the study by name, and the key of the score."""

    first: str
    second: str
    score: str


def named_comparisons(study: Study) -> list[Named]:
    """The comparisons that `seeds: auto` decides.

    Those of the study's claims that compare two sets of cells; without any, the usual choice, the first cell of each
    dataset and noise rate, with each other cell there.
    """
    cells = study.cells()
    return list(dict.fromkeys(_of_claims(study))) or [
        Named(first.name, cell.name, study.objective(cell.dataset))
        for cell in without_toplines(cells)
        for first in [next(c for c in cells if _condition(c) == _condition(cell))]
        if cell is not first
    ]


def _of_claims(study: Study) -> Iterator[Named]:
    for claim in study.claims:
        if _compares(claim):
            for pair in pairs(claim, study.cells()):
                (first,), (second,) = pair.first, pair.second
                yield Named(first.name, second.name, score_key(study, first.dataset, claim.score))


def _compares(claim: ClaimSection) -> bool:
    """Whether the claim is about a difference of two scores that each trial has."""
    return claim.compare is not None and not claim.share and not claim.score.startswith("diagnostics/")


def _condition(cell: Any) -> tuple[str, str, float]:
    return cell.dataset, cell.noise, cell.rate
