"""A verdict in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from dml.counting import counted
from dml.report.labels import readable, score_label
from dml.report.methods import after_comma
from dml.report.numbers import NOTHING, interval, p_value, percent
from dml.report.page.blocks import Evidence
from dml.report.results import Results
from dml.report.verdicts import SIGNS, Verdict

LOGGED = "diagnostics/"
Number = Callable[[Mapping[str, Any]], float]


def is_logged(key: str) -> bool:
    """Whether a key names a number that trials log, not a score."""
    return key.startswith(LOGGED)


def logged(results: Results, name: str, key: str, number: Number | None = None) -> pd.Series:
    """A cell's logged numbers by block, as `Results.values`: shares in percent, all others as they are."""
    quantity = key.removeprefix(LOGGED)
    number = number or partial(_mean_number, quantity=quantity)
    rows = results.confirmed_of(name)
    values = [number(diagnostics) for diagnostics in results.logged(name)]
    blocks = rows["split" if results.study.splits > 1 else "seed"].to_numpy()
    return pd.Series(values, index=blocks, dtype=float).dropna().groupby(level=0).mean()


def unit(key: str) -> str:
    """In what a logged number is measured."""
    quantity = key.removeprefix(LOGGED)
    return "points" if quantity.endswith("_share") else quantity.replace("_", " ")


def _mean_number(diagnostics: Mapping[str, Any], quantity: str) -> float:
    value = float(diagnostics.get(quantity, math.nan))
    return 100 * value if quantity.endswith("_share") else value


def text_of(verdict: Verdict) -> str:
    """What is claimed; of a comparison without a text, what is compared."""
    claim, comparison = verdict.claim, verdict.comparison
    if claim.printed:
        return claim.printed.claim
    return claim.text or f"{comparison.compared}: {comparison.expected}"


def place_of(verdict: Verdict) -> str:
    """Where the claim is made: a paper or a family of claims, and the place in it, or that it is the study's own."""
    claim = verdict.claim.printed or verdict.claim
    paper = "Own comparison" if claim.paper == verdict.study else claim.paper
    return ", ".join(filter(None, (paper, claim.place)))


def measured(verdict: Verdict) -> str:
    """`+19.0 [+17.2, +20.8] points, p (Holm) < 0.001, 8 seeds, not tuned`; why, if nothing was measured."""
    if not verdict.effects:
        return verdict.reason
    write = _number if is_logged(verdict.comparison.score) else partial(percent, signed=True)
    effects = "; ".join(f"{e.label} {interval(*map(write, (e.mean, e.low, e.high)))}".strip() for e in verdict.effects)
    seeds = counted(min(e.seeds for e in verdict.effects), verdict.block)
    classes, searches = any(e.classes for e in verdict.effects), any(e.searched for e in verdict.effects)
    seeds += ", classes and searches" if classes and searches else " and classes" * classes + " and searches" * searches
    p_text = p_value(verdict.p)
    p = "" if math.isnan(verdict.p) else f", p (Holm) {'' if p_text.startswith('<') else '= '}{p_text}"
    reasons = [verdict.reason] * bool(verdict.reason) + ["one more test would leave it undecided"] * verdict.fragile
    reasons += [f"at fixed settings: {verdict.comparison.fixed}"] * bool(verdict.comparison.fixed)
    reasons += verdict.unknown if not verdict.flags else ()
    reason = f" ({'; '.join(reasons)})" if reasons else ""
    published = verdict.comparison.published
    theirs = "" if published is None else f"; published: {write(published)}"
    tuning = after_comma(", ".join(filter(None, (verdict.tuning, *verdict.caveats))))
    return f"{effects} {verdict.comparison.unit}{p}, {seeds}{tuning}{reason}{theirs}"


def evidence(verdict: Verdict, where: str = "", href: str = "") -> Evidence:
    """A verdict as a page shows it, with a link to `href` if there is one. A paper's claim names our score and data."""
    comparison = verdict.comparison
    key = comparison.score
    score = verdict.objective
    if key:
        score = readable(key.removeprefix(LOGGED)) if is_logged(key) else score_label(key)
    on = f"{score}, on {verdict.data}{', as a stand-in' * verdict.stand_in}: " if verdict.claim.id else ""
    note = " ".join(comparison.note.split())
    smaller = f"Compared: {comparison.compared}; expected {comparison.expected}. {note}".strip()
    smaller = smaller if comparison.compared else ""
    text = on * bool(verdict.data) + measured(verdict)
    return Evidence(SIGNS[verdict.word], verdict.word, where, href, text, smaller, verdict.study, note)


def _number(value: float) -> str:
    """`+0.0123`, three significant figures; an en dash if it is missing."""
    return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else NOTHING
