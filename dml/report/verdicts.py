"""When a claim is confirmed, refuted or undecided: the rule, and the correction for several claims.

An effect has one value per seed, in points. A claim says that the mean effect is above `least` in a direction, or, with
`equal`, that it is closer to 0 than `least`.

- Confirmed: the effect is significantly above `least`. With `equal`, two one-sided tests must both reject (Schuirmann
  1987).
- Refuted: the effect is significantly below `least`; with the default of 0 it goes the other way. With `equal`, it is
  significantly farther from 0 than `least`.
- Undecided: neither, or less than two seeds.

Each is a t-test over seeds, two-sided but for the two tests of `equal`; in one class split with the part of the test
classes, where their scores are known, and of the searches; over several with the corrected variance. Without a correction, a claim is confirmed if the 95% interval of its
effect is above `least`. A claim for each value of an attribute is confirmed if all of its parts
are (the largest p), and refuted if any is (the smallest p times their number). Holm's correction is over the claims of
one paper that were tested, in all studies, separately for both questions. Stand-ins decide no claim, so they are a
family of their own, and a comparison with flags is in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dml import statistics
from dml.config import ClaimSection
from dml.report.estimates import Estimate, Term, estimate

Word = Literal["refuted", "undecided", "confirmed", "needs data", "not tested"]
WORDS: tuple[Word, ...] = ("confirmed", "refuted", "undecided", "not tested", "needs data")
SIGNS: Mapping[str, str] = {
    "confirmed": "\N{CHECK MARK}",
    "refuted": "\N{MULTIPLICATION X}",
    "undecided": "?",
    "not tested": "\N{EN DASH}",
    "needs data": "\N{WHITE CIRCLE}",
}
DECIDED: tuple[Word, ...] = ("refuted", "undecided", "confirmed")  # worst news first
LEVEL = 0.05


@dataclass(frozen=True)
class Effect:
    """The effect behind a claim, or behind one part of a claim for each value of an attribute."""

    part: Mapping[str, Any]  # the attributes of `each` with their values
    mean: float  # points
    low: float  # 95% interval, Student's t; NaN for less than two seeds
    high: float
    seeds: int
    confirming: float  # p; NaN for less than two seeds
    refuting: float
    searched: bool = False  # the interval and both p contain the part of the searches
    classes: bool = False  # and that of the test classes

    @property
    def label(self) -> str:
        """`triplet`, `triplet, 0.2`; empty for a claim without parts."""
        return ", ".join(map(str, self.part.values()))


@dataclass(frozen=True)
class Verdict:
    """What one study says about one of its claims."""

    claim: ClaimSection
    study: str
    title: str  # of the study
    word: Word
    effects: tuple[Effect, ...] = ()
    p: float = float("nan")  # of the question that the word answers, after Holm's correction
    reason: str = ""  # why it was not tested, or why it is undecided
    objective: str = ""  # the metric of the study's objective, as it is written: `MAP@R`
    sources: tuple[str, ...] = ()  # of the cells that it compares
    data: str = ""  # the datasets of these cells
    stand_in: bool = False  # the claim is about other data, or another network
    flags: tuple[str, ...] = ()  # why its comparison decides nothing, see `dml.report.analysis.flags`
    unknown: tuple[str, ...] = ()  # what is not known about it
    fragile: bool = False  # one more test in the family would leave it undecided
    block: str = "seed"  # what the effects are paired over
    tuning: str = ""  # the mark of the study's comparisons, see `dml.report.tuning`
    caveats: tuple[str, ...] = ()  # of the cells that it compares, see `dml.config.caveats`


def effect(
    values: Sequence[float],
    claim: ClaimSection,
    part: Mapping[str, Any],
    searches: Sequence[Term] = (),
    classes: Sequence[Term] = (),
    overlap: float = 0.0,
) -> Effect:
    """The effect with its interval and both p, from one value per seed in points.

    Parameters
    ----------
    searches, classes : further variance of the mean, see `estimate`: searches do not bound the interval.
    overlap : where values are of class splits, `Results.overlap`.
    """
    x = np.asarray(values, dtype=float)
    s: Estimate | statistics.Summary
    above: Callable[[np.ndarray, float], float]
    if (searches or classes) and x.size > 1:
        terms = [Term(statistics.mean_variance(x), x.size - 1.0), *classes]
        s, above = estimate(float(x.mean()), terms, searches), partial(_above, terms, searches)
    else:
        s, above = statistics.summary(x, overlap=overlap), partial(statistics.one_sided_t, overlap=overlap)
    least, y = claim.least, -x if claim.direction == "less" else x
    if claim.direction == "equal":
        confirming = np.maximum(above(x, -least), above(-x, -least))
        refuting = 2 * np.minimum(above(x, least), above(-x, least))
    else:
        confirming, refuting = 2 * above(y, least), 2 * above(-y, -least)
    p, q = (float(np.minimum(1.0, one)) for one in (confirming, refuting))
    return Effect(part, s.mean, s.low, s.high, len(x), p, q, searched=bool(searches), classes=bool(classes))


def _above(terms: Sequence[Term], searches: Sequence[Term], values: np.ndarray, bound: float) -> float:
    """`statistics.one_sided_t` with further variance."""
    own = estimate(float(values.mean()) - bound, terms, searches)
    return own.p / 2 if own.mean > 0 else 1 - own.p / 2


def combined(effects: Sequence[Effect]) -> tuple[float, float]:
    """(confirming, refuting): the p of a claim from those of its parts; NaN if a part has less than two seeds."""
    found = np.array([(e.confirming, e.refuting) for e in effects])
    if np.isnan(found).any():
        return float("nan"), float("nan")
    return float(found[:, 0].max()), float(min(1.0, len(effects) * found[:, 1].min()))


def decided(confirming: float, refuting: float) -> tuple[Word, float]:
    """The word, and the p behind it; for an undecided claim the smaller p."""
    if confirming < LEVEL:
        return "confirmed", confirming
    if refuting < LEVEL:
        return "refuted", refuting
    return "undecided", min(confirming, refuting)


def worst(words: Sequence[Word]) -> Word:
    """The head verdict of a claim with several: the worst news among those that were tested, else `not tested`."""
    return next((word for word in DECIDED if word in words), "not tested")
