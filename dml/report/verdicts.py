"""When a claim is confirmed, refuted or undecided: the rule, and the correction for several claims.

An effect has one value per seed, in points. A claim says that the mean effect is `above` a bound, `below` one, or
`within` one of 0. It is confirmed if the effect is significantly on the claimed side of the bound (with `within`, if
both of two one-sided tests reject, Schuirmann 1987), refuted if it is significantly on the other side, and undecided
otherwise, or with less than two seeds.

Each is a t-test over seeds, two-sided but for the two tests of `within`; in one class split with the part of the test
classes, where their scores are known, and of the searches; over several with the corrected variance. A claim for each
value of an attribute is confirmed if all of its parts are (the largest p), and refuted if any is (the smallest p times
their number). Holm's correction is over the claims of one paper that were tested, in all studies, separately for both
questions. Stand-ins decide no claim, so they are a family of their own, and a comparison with flags is in none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from dml import statistics
from dml.papers import PaperClaim, paper_claims
from dml.statistics import Estimate, Term, estimate

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


class Expected(NamedTuple):
    """What a claim says of its effect, in points."""

    side: Literal["above", "below", "within"] = "above"
    bound: float = 0.0  # within: of 0

    def __str__(self) -> str:
        """`above 0`, `below \N{MINUS SIGN}2`, `within 0.5 of 0`."""
        bound = f"{self.side} {self.bound:g}".replace("-", "\N{MINUS SIGN}")
        return f"{bound} of 0" if self.side == "within" else bound


ABOVE_0 = Expected()


@dataclass(frozen=True)
class Claim:
    """A statement, with what decides it."""

    id: str = ""  # of a paper's claim
    paper: str = ""  # whose claims share Holm's correction; of a study's own comparison the study
    text: str = ""
    place: str = ""

    @property
    def printed(self) -> PaperClaim | None:
        """The paper's claim, unless it is the project's own."""
        return paper_claims()[self.id] if self.id else None


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
class Comparison:
    """What a claim's function finds in the results of one study."""

    compared: str = ""  # in words
    unit: str = "points"
    expected: Expected = ABOVE_0
    score: str = ""  # "": the objective
    cells: tuple[str, ...] = ()  # the names of those that are compared, and of the references of their shares
    effects: tuple[Effect, ...] = ()
    reason: str = ""  # why there is no effect, or why it is not of the claim's own score
    published: float | None = None  # the published effect, in points
    note: str = ""  # a remark for the reader
    disputed: str = ""  # what another look found that the verdict does not agree with
    fixed: str = ""  # why the claim is about the settings that the study has, so that none is tuned


@dataclass(frozen=True)
class Verdict:
    """What one study says about a claim."""

    claim: Claim
    comparison: Comparison
    study: str
    title: str  # of the study
    word: Word = "not tested"
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
    tuning: str = ""  # the mark of the study's comparisons, see `dml.report.methods`
    caveats: tuple[str, ...] = ()  # of the cells that it compares, see `dml.config.for_use`

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Those of its comparison."""
        return self.comparison.effects


def effect(
    values: Sequence[float],
    expected: Expected,
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
    side, bound = expected
    if side == "within":
        confirming = np.maximum(above(x, -bound), above(-x, -bound))
        refuting = 2 * np.minimum(above(x, bound), above(-x, bound))
    else:
        sign = -1 if side == "below" else 1
        confirming, refuting = 2 * above(sign * x, sign * bound), 2 * above(-sign * x, -sign * bound)
    p, q = (float(np.minimum(1.0, one)) for one in (confirming, refuting))
    return Effect(part, s.mean, s.low, s.high, len(x), p, q, searched=bool(searches), classes=bool(classes))


def _above(terms: Sequence[Term], searches: Sequence[Term], values: np.ndarray, bound: float) -> float:
    """`statistics.one_sided_t` with further variance."""
    shifted = estimate(float(values.mean()) - bound, terms, searches)
    return max(shifted.p / 2, statistics.one_sided_t(values, bound)) if shifted.mean > 0 else 1 - shifted.p / 2


def combined(effects: Sequence[Effect]) -> tuple[float, float]:
    """(confirming, refuting): the p of a claim from those of its parts; NaN if a part has less than two seeds."""
    p = np.array([(e.confirming, e.refuting) for e in effects])
    if np.isnan(p).any():
        return float("nan"), float("nan")
    return float(p[:, 0].max()), float(min(1.0, len(effects) * p[:, 1].min()))


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


def corrected(measured: Sequence[Verdict]) -> list[Verdict]:
    """Decide the claims whose effects are known, with Holm's correction over those of the same paper."""
    p = {i: combined(v.effects) for i, v in enumerate(measured) if v.effects and not v.flags}
    families: dict[tuple[str, bool], list[int]] = {}
    for i in (i for i in p if not math.isnan(p[i][0])):
        families.setdefault((measured[i].claim.paper, measured[i].stand_in), []).append(i)
    verdicts = list(measured)
    for family in families.values():
        words = _decided([p[i] for i in family])
        with_another = _decided([*(p[i] for i in family), (1.0, 1.0)])
        for i, (word, value), (then, _) in zip(family, words, with_another, strict=False):
            verdict, disputed = measured[i], measured[i].comparison.disputed
            if word in ("confirmed", "refuted") and disputed:
                reason = f"{word} here, but not elsewhere: {disputed}"
                verdicts[i] = replace(verdict, word="undecided", p=value, reason=reason)
            else:
                verdicts[i] = replace(verdict, word=word, p=value, fragile=then != word)
    return verdicts


def _decided(family: Sequence[tuple[float, float]]) -> list[tuple[Word, float]]:
    confirming, refuting = (statistics.holm([both[question] for both in family]) for question in (0, 1))
    return [decided(float(one), float(other)) for one, other in zip(confirming, refuting, strict=True)]


def head(claim: PaperClaim, verdicts: Sequence[Verdict]) -> Word:
    """A paper's claim in one word: the worst news of the studies with the data that the claim is about.

    A claim about several datasets is refuted by one of them, and confirmed only by all, or by as many as it asks for.
    Of a claim with several tests, one with flags keeps the others from confirming it.
    """
    direct = [verdict for verdict in verdicts if not verdict.stand_in]
    word = worst([verdict.word for verdict in direct])
    covered = {source for verdict in direct if verdict.word in DECIDED for source in verdict.sources}
    if word == "confirmed" and (len(covered) < claim.least_sources or any(verdict.flags for verdict in direct)):
        return "undecided"
    return "needs data" if word in ("confirmed", "not tested") and set(claim.needs) - covered else word
