"""Claims, effects and what is expected of them in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from dml.config import BreakPointSection, ClaimSection, SlopeSection
from dml.config.claim_checks import LOGGED
from dml.config.names import written_setting
from dml.counting import counted
from dml.report.analysis.diagnostics import is_logged
from dml.report.analysis.effects import unit
from dml.report.labels import readable, score_label
from dml.report.numbers import NOTHING, interval, p_value, percent
from dml.report.page.blocks import Evidence
from dml.report.tuning import after_comma
from dml.report.verdicts import SIGNS, Verdict


def compared(claim: ClaimSection, objective: str) -> str:
    """`positives easy minus positives random, of R@1, the objective`.

    Parameters
    ----------
    objective : the metric of the study's objective, as it is written.
    """
    test = claim.test
    if isinstance(test, SlopeSection) and not test.first:
        what = f"slope over {written_setting(test.over)}"
    else:
        what = f"{_match(test.first)} minus {_match(test.second)}"  # type: ignore[union-attr]
        if isinstance(test, SlopeSection):
            what = f"slope over {written_setting(test.over)} of {what}"
    if isinstance(test, BreakPointSection):
        what = f"noise rate at which the score falls below {test.at:g}% of its topline, {what}"
    where = f", where {_match(claim.where)}" if claim.where else ""
    share = ", in percent of the topline" if claim.share else ""
    return what + where + (f", of {claim.score}" if claim.score else f", of {objective}, the objective") + share


def expected(claim: ClaimSection) -> str:
    """`above 0`, `below \N{MINUS SIGN}2`, `below 1`, `within 0.5 of 0`."""
    if claim.direction == "equal":
        return f"within {claim.least:g} of 0"
    above = claim.direction == "greater"
    bound = f"{claim.least if above else 0.0 - claim.least:g}".replace("-", "\N{MINUS SIGN}")
    return f"{'above' if above else 'below'} {bound}"


def measured(verdict: Verdict) -> str:
    """`+19.0 [+17.2, +20.8] points, p (Holm) < 0.001, 8 seeds, not tuned`; why, if nothing was measured."""
    if not verdict.effects:
        return verdict.reason
    write = _number if is_logged(verdict.claim.score) else partial(percent, signed=True)
    effects = "; ".join(f"{e.label} {interval(*map(write, (e.mean, e.low, e.high)))}".strip() for e in verdict.effects)
    seeds = counted(min(e.seeds for e in verdict.effects), verdict.block)
    classes, searches = any(e.classes for e in verdict.effects), any(e.searched for e in verdict.effects)
    seeds += ", classes and searches" if classes and searches else " and classes" * classes + " and searches" * searches
    p = "" if math.isnan(verdict.p) else f", p (Holm) {_equal(p_value(verdict.p))}"
    reasons = [verdict.reason] * bool(verdict.reason) + ["one more test would leave it undecided"] * verdict.fragile
    reasons += [f"at fixed settings: {verdict.claim.fixed}"] * bool(verdict.claim.fixed)
    reasons += verdict.unknown if not verdict.flags else ()
    reason = f" ({'; '.join(reasons)})" if reasons else ""
    published = verdict.claim.published
    theirs = "" if published is None else f"; published: {write(published)}"
    tuning = after_comma(", ".join(filter(None, (verdict.tuning, *verdict.caveats))))
    return f"{effects} {unit(verdict.claim)}{p}, {seeds}{tuning}{reason}{theirs}"


def evidence(verdict: Verdict, where: str = "", href: str = "") -> Evidence:
    """A verdict as a page shows it, with a link to `href` if there is one. A paper's claim names our score and data."""
    claim = verdict.claim
    on = f"{_score(verdict)}, on {verdict.data}{', as a stand-in' * verdict.stand_in}: " if claim.printed else ""
    test = compared(claim, verdict.objective)
    note = " ".join(claim.note.split())
    smaller = f"Compared: {test}; expected {expected(claim)}. {note}".strip()
    text = on * bool(verdict.data) + measured(verdict)
    return Evidence(SIGNS[verdict.word], verdict.word, where, href, text, smaller, verdict.study, note)


def _score(verdict: Verdict) -> str:
    """`R@1, test classes, fine labels`; what trials log as it is called; else the objective's metric."""
    key = verdict.claim.score
    if is_logged(key):
        return readable(key.removeprefix(LOGGED))
    return score_label(key) if key else verdict.objective


def _number(value: float) -> str:
    """`+0.0123`, three significant figures; an en dash if it is missing."""
    return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else NOTHING


def _equal(p: str) -> str:
    return p if p.startswith("<") else f"= {p}"


def _match(match: Mapping[str, Any]) -> str:
    """`positives easy, loss triplet or margin`."""
    return ", ".join(f"{key} {_value(value)}" for key, value in match.items()) or "all cells"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else readable(str(value))
