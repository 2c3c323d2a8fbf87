"""The effect of a claim seed by seed, from a study's results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pandas as pd

from dml.config import BreakPointSection, ClaimSection, ComparisonSection, SlopeSection
from dml.config.claim_checks import score_key
from dml.config.matching import attribute, identity, matching
from dml.config.names import written_setting
from dml.config.pairing import Line, Pair, pairs, without_toplines
from dml.report.analysis.diagnostics import is_logged, logged
from dml.report.analysis.diagnostics import unit as logged_unit
from dml.report.analysis.interval_coverage import class_terms
from dml.report.analysis.search_uncertainty import search_terms
from dml.report.analysis.shares import break_point, kept
from dml.report.estimates import Term
from dml.report.labels import score_label
from dml.report.results import Results
from dml.report.verdicts import Effect, effect


def effects(results: Results, claim: ClaimSection) -> list[Effect]:
    """The effect of a claim for each value of its `each`; empty if one has no seed that all of its cells finished."""
    parts: dict[str, list[Pair]] = {}
    for pair in pairs(claim, list(results.cells.values())):
        parts.setdefault(identity(pair.each), []).append(pair)
    found = [(own, _by_seed(results, claim, own).sort_index()) for own in parts.values()]
    if any(values.empty for _, values in found):
        return []
    return [
        effect(values.to_list(), claim, own[0].each, *_further(results, claim, own), results.overlap)
        for own, values in found
    ]


def decisive(results: Results, claim: ClaimSection) -> tuple[tuple[Effect, ...], str]:
    """The effects that decide a claim, and why if they are not of its own score.

    NMI has a floor that rises with the number of clusters. Where AMI, which is adjusted for chance, has an effect of
    the other sign, AMI decides.
    """
    own = tuple(effects(results, claim))
    score = score_key(results.study, next(iter(results.cells.values())).dataset, claim.score)
    key = score.removesuffix("nmi") + "ami"
    if not score.endswith("/nmi") or key not in results.score_keys:
        return own, ""
    adjusted = tuple(effects(results, claim.model_copy(update={"score": key})))
    if not adjusted or all(a.mean * b.mean >= 0 for a, b in zip(own, adjusted, strict=True)):
        return own, ""
    return adjusted, "decided by AMI, which contradicts NMI"


def unmet(results: Results, claim: ClaimSection) -> str | None:
    """Which cell misses a claim's condition by most. Empty if the condition holds, None if a cell has no result."""
    condition = claim.condition
    if condition is None:
        return ""
    match = {**claim.where, **condition.cells}
    worst = 0.0
    text = ""
    for cell in matching(without_toplines(results.cells.values(), match), match):
        key = score_key(results.study, cell.dataset, condition.score or claim.score)
        values = _score(results, cell.name, key)
        if values.empty:
            return None
        mean = float(values.mean())
        low, high = condition.at_least, condition.at_most
        lacking = (low - mean) if low is not None else mean - float(high or 0)
        if lacking > worst:
            worst = lacking
            sign = "" if is_logged(key) else "%"
            bound = (f"at least {low:g}" if low is not None else f"at most {high:g}") + sign
            of = f"{results.methods[cell.name].label} at {results.level(*cell.noise_level)}"
            text = f"{key if is_logged(key) else score_label(key)} of {of} is {mean:.4g}{sign}, expected {bound}"
    return text


def unit(claim: ClaimSection) -> str:
    """In what an effect is measured."""
    of = logged_unit(claim.score) if is_logged(claim.score) else "points"
    if isinstance(claim.test, SlopeSection):
        return f"{of} per {'doubling' if claim.test.scale == 'log' else 'unit'} of {written_setting(claim.test.over)}"
    return "points of the noise rate" if isinstance(claim.test, BreakPointSection) else of


def _by_seed(results: Results, claim: ClaimSection, own: list[Pair]) -> pd.Series:
    """The mean effect over pairs, on the seeds that all of their cells finished."""
    columns = []
    for pair in own:
        first = _value(results, claim, pair.first)
        columns.append(first - _value(results, claim, pair.second) if pair.second else first)
    return pd.concat(columns, axis=1, join="inner").dropna().mean(axis=1)


def _further(results: Results, claim: ClaimSection, own: list[Pair]) -> tuple[list[Term], list[Term]]:
    """What searches, and test classes, add to the variance of a mean difference.

    Of slopes, break points and shares it is not known.
    """
    if not isinstance(claim.test, ComparisonSection) or claim.share or is_logged(claim.score):
        return [], []
    weights: Counter[str] = Counter()
    for pair in own:
        weights.update({pair.first[0].name: 1 / len(own)})
        weights.subtract({pair.second[0].name: 1 / len(own)})
    key = score_key(results.study, own[0].first[0].dataset, claim.score)
    return search_terms(results, weights, key), class_terms(results, key, weights)


def _value(results: Results, claim: ClaimSection, line: Line) -> pd.Series:
    """A line's score, slope or break point, indexed by seed."""
    key = score_key(results.study, line[0].dataset, claim.score)
    if isinstance(claim.test, BreakPointSection):
        at = claim.test.at
        noisy = [cell for cell in line if cell.rate > 0]
        frame = _frame(results, tuple(noisy), key, kept)
        return _rowwise(frame, lambda shares: 100 * _breaks([c.rate for c in noisy], list(shares), at))
    frame = _frame(results, line, key, kept if claim.share else _score)
    if not isinstance(claim.test, SlopeSection):
        return frame[0]
    x = np.array([float(claim.test.number(attribute(cell, claim.test.over))) for cell in line])
    x = np.log2(x) if claim.test.scale == "log" else x
    return _rowwise(frame, lambda scores: float(np.polyfit(x, scores, 1)[0]))


def _frame(results: Results, line: Line, key: str, values: Callable[[Results, str, str], pd.Series]) -> pd.DataFrame:
    """The values of a line's cells as columns, on the seeds that all of them finished."""
    columns = {place: values(results, cell.name, key) for place, cell in enumerate(line)}
    return pd.DataFrame(columns).dropna()


def _rowwise(frame: pd.DataFrame, of: Callable[[np.ndarray], float]) -> pd.Series:
    return pd.Series({seed: of(row.to_numpy(float)) for seed, row in frame.iterrows()}, dtype=float)


def _breaks(rates: list[float], shares: list[float], at: float) -> float:
    """The break point; the highest rate if the method never breaks: a difference is not exaggerated, but may be 0."""
    return min(break_point(rates, shares, at), max(rates))


def _score(results: Results, name: str, key: str) -> pd.Series:
    return logged(results, name, key) if is_logged(key) else results.values(name, key)
