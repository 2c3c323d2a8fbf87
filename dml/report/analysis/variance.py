"""Which choices and which of their interactions decide the score: shares of the variance between cells.

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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import optimize, stats

from dml.report.analysis.factorial import RATE, Crossed

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
