"""Checks that a study's cells and scores can decide its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from dml.config.claims import BreakPointSection, ClaimSection, SlopeSection
from dml.config.errors import LocatedError
from dml.config.matching import attribute, check_attributes, check_matching
from dml.config.names import written_setting
from dml.config.pairing import pairs, without_toplines
from dml.config.study import Study
from dml.discovery import suggestion
from dml.evaluation import metrics
from dml.protocols import ClusteringMetric
from dml.types import Cell, ScoreKey

T = TypeVar("T")
LOGGED = "diagnostics/"
_OF_FILTERS = ("kept_share", "left_out_precision", "left_out_recall")
QUANTITIES = tuple(
    LOGGED + name for name in ("active_share", "dropped_anchors", "images_per_second", "eta", *_OF_FILTERS)
)
"""What trials log besides their scores, and claims may compare."""


def check(study: Study) -> None:
    """Check all claims of a study, and the attributes that its reference values name.

    Raises
    ------
    LocatedError : of the first that is wrong, with the choices.
    """
    cells = study.cells() if study.reference_values or study.claims else []
    for number, entry in enumerate(study.reference_values):
        _at(("reference_values", number, "match"), check_attributes, cells, entry.match)
    for number, claim in enumerate(study.claims):
        check_claim(study, cells, claim, ("claims", number))


def score_key(study: Study, dataset: str, score: str = "") -> str:
    """The score key of a claim's `score` for a dataset; without one, that of the study's objective.

    Raises
    ------
    ValueError : a score that the study does not evaluate, with the choices.
    """
    levels, evaluation = study.dataset(dataset).evaluate_on, study.evaluation
    if score.startswith(LOGGED):
        if score not in QUANTITIES:
            raise ValueError(f"score {score!r} is not logged{suggestion(score, QUANTITIES)}")
        return score
    if not score:
        return study.objective(dataset)
    key = score if ScoreKey.is_spelt(score) else f"{evaluation.sets[0]}/{score}"
    choices = [str(ScoreKey(*parts)) for parts in product(evaluation.sets, levels, _metrics(study))]
    if key not in choices:
        raise ValueError(f"score {score!r} is not evaluated on {dataset}{suggestion(key, choices)}")
    return key


def _metrics(study: Study) -> list[str]:
    """The names in score keys: `recall@1`, `nmi`, and with `evaluation.clusters` also `nmi@30`."""
    found = list(study.evaluation.metrics)
    for name in study.evaluation.metrics:
        part = metrics.build(name)
        if isinstance(part, ClusteringMetric) and not part.own_clusters:
            found += [f"{name}@{k}" for k in study.evaluation.clusters]
    return found


def check_claim(study: Study, cells: Sequence[Cell], claim: ClaimSection, at: tuple[str | int, ...] = ()) -> None:
    """Check one claim, as `check` does. `at` is its place in the study."""
    _at((*at, "where"), check_matching, cells, claim.where)
    used: list[Cell] = []
    for key, match in claim.sets():
        used += _at((*at, claim.kind, key), _cells, cells, match)
    condition = claim.condition
    if condition is not None:
        found = _at((*at, "condition", "cells"), _cells, cells, {**claim.where, **condition.cells})
        _at((*at, "condition", "score"), _check_score, study, found, condition.score or claim.score)
    _at((*at, "score"), _check_score, study, used, claim.score)
    _at((*at, "each"), _check_each, claim, used)
    _at((*at, "share"), _check_share, claim, used)
    if isinstance(claim.test, SlopeSection):
        _at((*at, "slope", "over"), _check_over, claim.test, used)
    _at((*at, claim.kind), _check_pairs, claim, cells)


def _cells(cells: Sequence[Cell], match: Mapping[str, Any]) -> list[Cell]:
    return check_matching(without_toplines(cells, match), match)


def _check_score(study: Study, used: Sequence[Cell], score: str) -> None:
    for dataset in dict.fromkeys(cell.dataset for cell in used):
        score_key(study, dataset, score)


def _check_each(claim: ClaimSection, used: Sequence[Cell]) -> None:
    check_attributes(used, claim.each)
    listed = {} if isinstance(claim.test, SlopeSection) else claim.test.first
    chosen = {key for key, value in listed.items() if isinstance(value, list)}
    both = sorted(map(written_setting, (claim.differing() - chosen) & set(claim.each)))
    if both:
        raise ValueError(
            f"{', '.join(both)} differs within a comparison. Expected attributes that are equal in it, or of which "
            "`first` lists several values"
        )


def _check_share(claim: ClaimSection, used: Sequence[Cell]) -> None:
    if claim.share or isinstance(claim.test, BreakPointSection):
        if claim.score.startswith(LOGGED):
            raise ValueError(f"only scores have a share of their topline, got {claim.score!r}")
        lacking = next((cell for cell in used if not any(c.rate > 0 and c.dataset == cell.dataset for c in used)), None)
        if lacking is not None:
            raise ValueError(f"a share of the topline needs label noise: all cells on {lacking.dataset} have rate 0")
    along_rate = isinstance(claim.test, SlopeSection) and claim.test.over == "rate"
    if claim.share and not along_rate and any(cell.rate == 0 for cell in used):
        rates = sorted({cell.rate for cell in used} - {0.0})
        raise ValueError(
            f"at rate 0 every share is 100, which would dilute the effect: expected `where: {{rate: {rates}}}`"
        )


def _check_over(slope: SlopeSection, used: Sequence[Cell]) -> None:
    check_attributes(used, [slope.over])
    over = written_setting(slope.over)
    values = {repr(v): v for v in (slope.number(attribute(cell, slope.over)) for cell in used)}.values()
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        lacking = sorted({cell.loss.name for cell in used if attribute(cell, slope.over) is None})
        remedy = (
            f"; {', '.join(lacking)} does not have it: choose cells that do, in `cells` or `where`" if lacking else ""
        )
        raise ValueError(f"expected numbers in {over}, got {', '.join(map(repr, values))}{remedy}")
    if len(values) < 2:
        raise ValueError(f"{over} has only one value in these cells: {', '.join(map(repr, values))}")
    if slope.scale == "log" and min(values) <= 0:
        raise ValueError(f"scale log: expected values of {over} above 0, got {min(values)!r}")


def _check_pairs(claim: ClaimSection, cells: Sequence[Cell]) -> None:
    found = pairs(claim, cells)
    if not found:
        raise ValueError(
            "no cell of `first` has a partner in `second` that is equal in all other attributes: name every attribute "
            "in which they differ in both"
        )
    if any({cell.name for cell in pair.first} & {cell.name for cell in pair.second} for pair in found):
        raise ValueError("`first` and `second` share cells: name an attribute in which they differ")
    lines = [line for pair in found for line in (pair.first, pair.second) if line]
    if isinstance(claim.test, SlopeSection) and any(len(line) < 2 for line in lines):
        raise ValueError(
            f"some of these cells have only one value of {written_setting(claim.test.over)}, all else equal"
        )
    if isinstance(claim.test, BreakPointSection) and not all(any(c.rate > 0 for c in line) for line in lines):
        raise ValueError("some of these cells have no label noise")


def _at(location: tuple[str | int, ...], check: Callable[..., T], *arguments: Any) -> T:
    """Call a check; its error names this place of the study."""
    try:
        return check(*arguments)
    except ValueError as error:
        raise LocatedError(str(error), *location) from error
