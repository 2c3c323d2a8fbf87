"""`seeds: auto`: how many seeds a study may take, and which comparisons decide when it has enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, model_validator

from dml import sequential
from dml.config.claim_checks import score_key
from dml.config.claims import ClaimSection
from dml.config.pairing import pairs, without_toplines
from dml.config.terms import StudySection

if TYPE_CHECKING:
    from dml.config.study import Study


class AutoSection(StudySection):
    """The least and the most seeds of a cell."""

    least: int = Field(3, ge=3, description="seeds of every cell")
    most: int = Field(20, ge=4, le=200, description="seeds of a cell whose comparison stays open")

    @model_validator(mode="after")
    def _check(self) -> AutoSection:
        if self.most <= self.least:
            raise ValueError(f"most: expected more than `least` ({self.least}), got {self.most}")
        return self

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many seeds the comparisons are looked at."""
        return sequential.looks(self.least, self.most)


class Named(NamedTuple):
    """A comparison that more seeds may decide: two cells of the study by name, and the key of the score."""

    first: str
    second: str
    score: str


def fill(content: dict[str, Any]) -> dict[str, Any]:
    """A study's settings with the list of seeds that `seeds: auto` or `seeds: {auto: {...}}` stands for.

    Raises
    ------
    ValueError : other keys beside `auto`, or a wrong `least` or `most`.
    """
    given = content.get("seeds")
    if given == "auto":
        given = {"auto": {}}
    if not isinstance(given, dict):
        return content
    if set(given) != {"auto"} or not isinstance(given["auto"] or {}, dict):
        raise ValueError(f"seeds: expected a list, auto, or {{auto: {{least: 3, most: 20}}}}, got {given}")
    own = AutoSection(**(given["auto"] or {}))
    return {**content, "seeds": list(range(own.most)), "auto_seeds": own}


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
