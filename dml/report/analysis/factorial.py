"""A study's complete factorial: every loss with every choice of positives and negatives, at every noise rate and seed.

Effects of one choice are only comparable if all else is equal. So cells are left out until every level of an axis meets
every level of the others: the level with the largest share of missing cells goes first.

The effect of each choice, pooled over all else, with seeds as blocks.

For each seed, the effect of a level is the mean over all cells with it minus the mean over all cells of the factorial.
Its interval is Student's t over seeds: seeds that are good or bad for all cells cancel out. Class splits take the place
of seeds where there are several, with the corrected variance.

Which choices and which of their interactions decide the score: shares of the variance between cells.

The analysis of variance of a complete factorial with seeds as blocks. The error is the interaction of cells and seeds;
of class splits, which share training classes, it is multiplied as the corrected variance is (`Results.overlap`).
That noise lowers all scores is no choice, so the variance is that between cells of the same noise rate.
A term's sum of squares over the error's mean square has a noncentral F distribution; its noncentrality l is the term's
variance in units of the seeds' noise, without what noise alone adds. Its interval inverts that distribution (Steiger,
Psychological Methods 2004). So does the interval of the noncentrality r of all other terms together, whose sums of
squares add up to one such distribution. The share l / (l + r) depends on both, so its interval comes from both, by the
recovery of variances for ratios (MOVER; Donner & Zou, Statistical Methods in Medical Research 2012). Holding r at its
estimate would miss terms that explain nearly everything: then r is all that is uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from scipy import optimize, stats

from dml import statistics
from dml.report.labels import is_topline
from dml.report.results import Results, once
from dml.types import value_text

CHOICES = ("loss", "positives", "negatives")
RATE = "rate"
Point = tuple[str, ...]


@dataclass(frozen=True)
class Crossed:
    """The factorial of one dataset and noise model."""

    dataset: str
    noise: str
    levels: Mapping[str, tuple[str, ...]]  # by axis: `CHOICES`, then settings that vary
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    scores: np.ndarray  # in percent, (levels of each axis, ..., R rates, S seeds)
    left_out: tuple[str, ...] = ()  # `loss softmax`: levels that do not meet all others
    overlap: float = 0.0  # `Results.overlap`, where the S blocks are class splits

    @property
    def axes(self) -> list[str]:
        """The axes with at least two levels, in the order of `levels`."""
        return [axis for axis, levels in self.levels.items() if len(levels) > 1]

    def at(self, rate: float) -> np.ndarray:
        """The scores at one noise rate, (levels of each axis, ..., S)."""
        return self.scores[..., self.rates.index(rate), :]


@once
def crossed(results: Results) -> list[Crossed]:
    """The factorials of a study in which at least two of `CHOICES` have two levels; without toplines."""
    pairs = [pair for pair in results.conditions if not is_topline(pair[1])]
    found = [factorial(results, *pair, results.objective(pair[0])) for pair in pairs]
    return [each for each in found if each is not None]


def complete(points: Sequence[Point], number: int) -> tuple[list[list[str]], list[tuple[int, str]]]:
    """The levels of each axis whose product is among the points, and the (axis, level) pairs that were left out.

    Parameters
    ----------
    number : of axes, the length of a point.
    """
    left_out: list[tuple[int, str]] = []
    kept = list(dict.fromkeys(points))
    while True:
        levels = [list(dict.fromkeys(point[axis] for point in kept)) for axis in range(number)]
        if len(kept) == int(np.prod([len(own) for own in levels])):
            return levels, left_out
        sizes = [len(own) for own in levels]
        share = {
            (axis, level): sum(point[axis] == level for point in kept) * sizes[axis] / np.prod(sizes)
            for axis in range(number)
            for level in levels[axis]
        }
        axis, level = min(share, key=lambda place: share[place])
        left_out.append((axis, level))
        kept = [point for point in kept if point[axis] != level]


def factorial(results: Results, dataset: str, noise: str, key: str) -> Crossed | None:
    """One dataset and noise model by the score `key`; None unless two of `CHOICES` have two levels."""
    axes = [*CHOICES, *results.varied]
    cells: dict[Point, str] = {}
    for name in results.cells_of(dataset, noise):
        cell, method = results.cells[name], results.methods[name]
        if method.positives and len(results.values(name, key)):
            varied = (value_text(cell.grid_point.get(setting, "")) for setting in results.varied)
            cells[(method.loss, method.positives, method.negatives, *varied, repr(cell.rate))] = name
    if not cells:
        return None
    levels, left_out = complete(list(cells), len(axes) + 1)
    if sum(len(levels[axis]) > 1 for axis in range(len(CHOICES))) < 2:
        return None
    rates = sorted(levels.pop(), key=float)
    values = [results.values(cells[point], key) for point in product(*levels, rates)]
    seeds = [seed for seed in results.study.blocks if all(seed in own.index for own in values)]
    if not seeds:
        return None
    scores = np.array([own.loc[seeds].to_numpy() for own in values])
    names = [*axes, "noise rate"]
    return Crossed(
        dataset,
        noise,
        {axis: tuple(own) for axis, own in zip(axes, levels, strict=True)},
        tuple(float(rate) for rate in rates),
        tuple(seeds),
        scores.reshape(*(len(own) for own in levels), len(rates), len(seeds)),
        tuple(f"{names[axis]} {level}" for axis, level in left_out),
        results.overlap,
    )


@dataclass(frozen=True)
class Effect:
    """The effect of one level of an axis at one noise rate, in points."""

    axis: str
    level: str
    rate: float
    summary: statistics.Summary
    p: float  # two-sided, by Student's t; NaN with one seed
    holm: float = float("nan")  # corrected for all questions of the factorial


def effects_at(block: Crossed, axis: str, rate: float) -> np.ndarray:
    """(levels, S): of each level of an axis, at each seed; they add up to 0."""
    scores = block.at(rate)
    place = list(block.levels).index(axis)
    others = tuple(i for i in range(scores.ndim - 1) if i != place)
    means = scores.mean(axis=others)
    return means - means.mean(axis=0)


def pooled_effects(block: Crossed) -> list[Effect]:
    """All effects of a factorial, by axis, rate and level; Holm's correction is over all of them.

    The two levels of an axis have opposite effects: these are one hypothesis.
    """
    found = list(_effects(block))
    if len(block.seeds) < 2:
        return found
    asked = [(e.axis, e.rate, "" if len(block.levels[e.axis]) == 2 else e.level) for e in found]
    p = dict(zip(asked, (e.p for e in found), strict=True))
    corrected = dict(zip(p, np.asarray(statistics.holm(list(p.values()))).tolist(), strict=True))
    return [replace(e, holm=corrected[question]) for e, question in zip(found, asked, strict=True)]


def _effects(block: Crossed) -> Iterator[Effect]:
    for axis in block.axes:
        for rate in block.rates:
            for level, values in zip(block.levels[axis], effects_at(block, axis, rate), strict=True):
                summary = statistics.summary(values, overlap=block.overlap)
                yield Effect(axis, level, rate, summary, statistics.paired_t(values, block.overlap))


ORDER = 2  # interactions of more axes are one term together
REST = "higher interactions"


@dataclass(frozen=True)
class Share:
    """A term's share of the variance between cells of one noise rate beyond seed noise, with its 95% interval."""

    term: str  # `loss`, `loss x positives`, or `REST`
    share: float
    low: float
    high: float
    p: float  # of no variance beyond noise


def shares(block: Crossed) -> list[Share]:
    """The terms of a factorial, the largest first; none with one seed, or if no variance exceeds the noise."""
    names = [*block.axes, *([RATE] if len(block.rates) > 1 else [])]
    cells = block.scores.reshape(*(size for size in block.scores.shape[:-1] if size > 1), len(block.seeds))
    if len(block.seeds) < 2:
        return []
    number, seeds = cells[..., 0].size, len(block.seeds)
    residual = cells - cells.mean(axis=-1, keepdims=True)
    residual = residual - residual.mean(axis=tuple(range(cells.ndim - 1)), keepdims=True)
    freedom = (number - 1) * (seeds - 1)
    noise = float((residual**2).sum()) / freedom * (1 + seeds * block.overlap)
    if noise <= 0:
        return []
    terms = {term: (seeds * squares / noise, df) for term, squares, df in _terms(cells.mean(axis=-1), names)}
    terms.pop(RATE, None)
    central = {term: max(ratio * (freedom - 2) / freedom - df, 0.0) for term, (ratio, df) in terms.items()}
    total = sum(central.values())
    if total <= 0:
        return []
    whole, df_whole = (sum(values) for values in zip(*terms.values(), strict=True))
    found = []
    for term, (ratio, df) in terms.items():
        low, high = interval_of_share((ratio, df), (whole - ratio, df_whole - df), freedom)
        share, p = central[term] / total, float(stats.f.sf(ratio / df, df, freedom))
        found.append(Share(term, share, min(low, share), max(high, share), p))
    return sorted(found, key=lambda each: -each.share)


def interval_of_share(term: tuple[float, int], rest: tuple[float, int], freedom: int) -> tuple[float, float]:
    """The 95% interval of l / (l + r), the noncentralities of a term and of all others together.

    Parameters
    ----------
    term, rest : sum of squares over the error's mean square, and its degrees of freedom; of the rest, possibly 0.
    freedom : of the error.
    """
    if rest[1] == 0:
        return 0.0, 1.0  # the only term: all of it, or there is nothing
    own, other = (max(ratio * (freedom - 2) / freedom - df, 0.0) for ratio, df in (term, rest))
    (low, high), (least, most) = (noncentrality(ratio, df, freedom) for ratio, df in (term, rest))

    def bound(sign: float, distance: float, other_distance: float) -> float:
        def beyond(share: float) -> float:
            spread = math.hypot((1 - share) * distance, share * other_distance)
            return (1 - share) * own - share * other + sign * spread

        if beyond(0.0) <= 0:
            return 0.0
        return 1.0 if beyond(1.0) >= 0 else float(optimize.brentq(beyond, 0.0, 1.0, xtol=1e-9))

    return (
        bound(-1, max(own - low, 0.0), max(most - other, 0.0)),
        bound(+1, max(high - own, 0.0), max(other - least, 0.0)),
    )


def noncentrality(ratio: float, df: int, freedom: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of the noncentrality of a sum of squares over the error's mean square, with `df` and `freedom`."""

    def bound(quantile: float) -> float:
        def beyond(value: float) -> float:
            return float(stats.ncf.cdf(ratio / df, df, freedom, value)) - quantile

        if beyond(0.0) <= 0:
            return 0.0
        upper = max(1.0, 2 * ratio)
        while beyond(upper) > 0:
            upper *= 2
        return float(optimize.brentq(beyond, 0.0, upper, xtol=1e-6 * upper))

    return bound((1 + level) / 2), bound((1 - level) / 2)


def _terms(means: np.ndarray, names: list[str]) -> Iterator[tuple[str, float, int]]:
    """(term, sum of squares of its effects over all cells, degrees of freedom) of the cells' means."""
    whole, df_left = float(((means - means.mean()) ** 2).sum()), means.size - 1
    effects: dict[tuple[int, ...], np.ndarray] = {(): means.mean(keepdims=True)}
    for order in range(1, min(ORDER, means.ndim) + 1):
        for axes in combinations(range(means.ndim), order):
            marginal = means.mean(axis=tuple(i for i in range(means.ndim) if i not in axes), keepdims=True)
            effect = marginal - sum(effects[part] for n in range(order) for part in combinations(axes, n))
            effects[axes] = effect
            squares = float((effect**2).sum()) * means.size / effect.size
            df = int(np.prod([means.shape[i] - 1 for i in axes]))
            whole, df_left = whole - squares, df_left - df
            yield " x ".join(names[i] for i in axes), squares, df
    if df_left > 0:
        yield REST, max(whole, 0.0), df_left
