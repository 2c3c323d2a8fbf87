"""Which choices and which of their interactions decide the score: shares of the variance between cells.

The analysis of variance of a complete factorial with seeds as blocks. The error is the interaction of cells and seeds.
That noise lowers all scores is no choice, so the variance is that between cells of the same noise rate.
A term's sum of squares over the error's mean square has a noncentral F distribution; its noncentrality is the term's
variance in units of the seeds' noise, without what noise alone adds. Its interval inverts that distribution (Steiger,
Psychological Methods 2004); the share's interval takes the noncentralities of all other terms as known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import optimize, stats

from dml.report.analysis.crossed import RATE, Crossed

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
    noise = float((residual**2).sum()) / freedom
    if noise <= 0:
        return []
    terms = {term: (seeds * squares / noise, df) for term, squares, df in _terms(cells.mean(axis=-1), names)}
    terms.pop(RATE, None)
    central = {term: max(ratio * (freedom - 2) / freedom - df, 0.0) for term, (ratio, df) in terms.items()}
    total = sum(central.values())
    if total <= 0:
        return []
    found = []
    for term, (ratio, df) in terms.items():
        low, high = noncentrality(ratio, df, freedom)
        rest = max(total - central[term], 1e-12)
        p = float(stats.f.sf(ratio / df, df, freedom))
        found.append(Share(term, central[term] / total, low / (low + rest), high / (high + rest), p))
    return sorted(found, key=lambda each: -each.share)


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
