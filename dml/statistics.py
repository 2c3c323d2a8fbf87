"""The uncertainty of scores: intervals over seeds, and paired comparisons over seeds or queries.

- Few pairs, such as seeds: Student's t for the interval, and all sign flips (Fisher 1935) for p.
- Folds share training classes: the corrected variance (Nadeau and Bengio, Machine Learning 52, 2003, section 4) is
  (1 / n + overlap) times the sample variance, where `overlap` is the ratio of test to training classes, 1 / (n - 1).
- Many pairs, such as queries: the bootstrap (Efron & Tibshirani 1993, chapter 16) of pairs.
- Several comparisons: Holm (1979). Independent sources: Satterthwaite (1946), never narrower than one by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # not `stats` and `optimize`, which take each process a second to import

from dml.seeding import numpy_generator

ROUNDING = 1e-12  # numbers as near as this are equal
FEW = 20  # pairs: with fewer the bootstrap's intervals are too narrow


class Summary(NamedTuple):
    """The scores of one method over seeds. Spread and interval are NaN for a single value."""

    mean: float
    std: float  # of the sample, with n - 1 as the divisor
    low: float  # confidence interval of the mean, by Student's t (of folds with the corrected variance)
    high: float
    n: int


class Comparison(NamedTuple):
    """Two methods on the same seeds or queries."""

    difference: float  # mean of first - second
    low: float  # 95% interval of the difference: Student's t (NaN for one pair), or bootstrap percentiles from 20 pairs
    high: float
    p: float  # two-sided: by sign flips (NaN for one pair), or by bootstrap from 20 pairs
    p_t: float  # two-sided, by the paired t-test; NaN for one pair
    n: int


def summary(
    values: ArrayLike, level: float = 0.95, *, bounds: tuple[float, float] | None = None, overlap: float = 0.0
) -> Summary:
    """Mean, standard deviation and confidence interval of a score over seeds, or over folds.

    Parameters
    ----------
    values : (n,), one for each seed or fold.
    level : the probability with which the interval covers the mean.
    bounds : the lowest and the highest value that the score can have. The interval is cut there. The mean cannot lie
        in what is cut off, so the interval covers it exactly as often as before. Intervals of another shape, such as
        Student's t on logits, are not defined for scores at the bounds, which seeds often reach.
    overlap : of folds, see `mean_variance`.

    Raises
    ------
    ValueError : no values, not one-dimensional, or outside the bounds; a negative overlap.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"summary: expected at least one value (n,), got shape {x.shape}")
    lowest, highest = (-np.inf, np.inf) if bounds is None else bounds
    outside = x[(x < lowest) | (x > highest)]
    if outside.size:
        raise ValueError(f"summary: expected values in {lowest:g}..{highest:g}, got {outside.tolist()}")
    if x.size == 1:
        return Summary(float(x[0]), np.nan, np.nan, np.nan, 1)
    mean, std = float(x.mean()), float(x.std(ddof=1))
    half = float(special.stdtrit(x.size - 1, (1 + level) / 2)) * mean_variance(x, overlap) ** 0.5
    return Summary(mean, std, max(mean - half, lowest), min(mean + half, highest), int(x.size))


def mean_variance(values: ArrayLike, overlap: float = 0.0) -> float:
    """The variance of the mean of at least two values (n,): s^2 (1 / n + overlap).

    `overlap` is the ratio of test to training classes if values are of folds, 0 for independent values such as seeds.
    Raises ValueError if it is negative.
    """
    if not overlap >= 0:
        raise ValueError(f"overlap: expected test classes for each training class, at least 0, got {overlap}")
    x = np.asarray(values, dtype=np.float64)
    return float(x.var(ddof=1)) * (1 / x.size + overlap)


def compare(first: ArrayLike, second: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two methods by pairs: over seeds, or over queries (`Scores.per_query`).

    Pairs with a NaN (queries without a relevant row) are left out. The p of the bootstrap is the share of resampled
    mean differences, shifted to a mean of zero, that are at least as far from zero as the observed one. The p of sign
    flips is that share among the mean differences under all exchanges within pairs, or under `resamples` random ones.

    Parameters
    ----------
    first, second : scores (n,), in the same order.
    resamples : bootstrap samples, and sign patterns at most.
    seed : of the resampling.

    Raises
    ------
    ValueError : shapes that differ, no pair without NaN, or no resamples.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"compare: expected two paired samples (n,), got {a.shape} and {b.shape}")
    d = (a - b)[~np.isnan(a - b)]
    if d.size == 0:
        raise ValueError("compare: expected at least one pair without NaN")
    if resamples < 1:
        raise ValueError(f"compare: resamples: expected at least 1, got {resamples}")
    draw = numpy_generator(seed, "paired bootstrap")
    observed = float(d.mean())
    if d.size < FEW:
        spread = summary(d)
        p = _sign_flips(d, resamples, draw) if d.size > 1 else np.nan
        return Comparison(observed, spread.low, spread.high, p, paired_t(d), int(d.size))
    step = max(1, (1 << 22) // d.size)
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    means = np.concatenate([d[draw.integers(d.size, size=(size, d.size))].mean(1) for size in sizes])
    p = (1 + _as_far(means - observed, d)) / (1 + resamples)
    low, high = np.quantile(means, [0.025, 0.975])
    return Comparison(observed, float(low), float(high), p, paired_t(d), int(d.size))


def _sign_flips(differences: np.ndarray, resamples: int, draw: np.random.Generator) -> float:
    """Two-sided p of a mean of zero: exact if there are at most `resamples` sign patterns."""
    n = differences.size
    if 2**n <= resamples:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return _as_far((signs * differences).mean(1), differences) / 2**n
    signs = 1 - 2 * draw.integers(2, size=(resamples, n))
    return (1 + _as_far((signs * differences).mean(1), differences)) / (1 + resamples)


def _as_far(means: np.ndarray, differences: np.ndarray) -> int:
    """How many means are at least as far from zero as that of the differences, within rounding."""
    return int((np.abs(means) >= abs(differences.mean()) - 1e-12 * np.abs(differences).max()).sum())


def paired_t(differences: np.ndarray, overlap: float = 0.0) -> float:
    """Two-sided p of a mean difference (n,) of zero, by Student's t; NaN for less than two.

    `overlap` is of folds, see `mean_variance`.

    It is 1 if all differences are 0, and the sign test's p if all are the same other number within rounding of
    percentages: t would give 0.
    """
    if differences.size < 2:
        return np.nan
    if np.ptp(differences) <= ROUNDING * max(1.0, float(np.abs(differences).max())):
        return 1.0 if abs(differences[0]) <= ROUNDING else 2.0 ** (1 - differences.size)
    t = differences.mean() / mean_variance(differences, overlap) ** 0.5
    return float(2 * special.stdtr(differences.size - 1, -abs(t)))  # `stats.ttest_1samp` takes 30 times as long


def one_sided_t(values: ArrayLike, bound: float = 0.0, overlap: float = 0.0) -> float:
    """One-sided p of a mean (n,) of at most `bound`, against a higher one, by Student's t; NaN for less than two.

    `overlap` is of folds, see `mean_variance`.
    Of equal values it is the sign test's: 2^-n if they are above the bound, else 1; t would give 0.
    """
    x = np.asarray(values, dtype=np.float64) - bound
    if x.size < 2:
        return np.nan
    if np.ptp(x) <= ROUNDING * max(1.0, abs(bound), float(np.abs(x).max())):
        return 2.0**-x.size if x[0] > ROUNDING * max(1.0, abs(bound)) else 1.0
    return float(special.stdtr(x.size - 1, -x.mean() / mean_variance(x, overlap) ** 0.5))


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P-values (n,), adjusted for the number of comparisons by Holm's step-down procedure.

    Raises ValueError for a value outside 0..1.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"holm: expected p-values in 0..1, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def power(difference: float, spread: float, n: int, level: float = 0.05, further: float = 0.0) -> float:
    """The chance that a two-sided paired t-test finds a true mean difference, by the noncentral t (Cohen 1988, 2.3).

    Parameters
    ----------
    difference : the true mean of the pairs' differences.
    spread : their standard deviation, in the same unit.
    n : pairs, such as seeds.
    level : of the test; divided by the number of tests for Bonferroni's correction, the first step of Holm's.
    further : variance of the mean that more pairs do not reduce, in the square of the unit. The degrees of freedom are
        still n - 1, which is cautious.

    Raises
    ------
    ValueError : a spread that is not positive, or a level outside 0..1.
    """
    if not spread > 0 or not 0 < level < 1:
        raise ValueError(f"power: expected a spread above 0 and a level in 0..1, got {spread} and {level}")
    if n < 2:
        return 0.0
    shares, weights = _quadrature()
    deviations = np.sqrt(2 * special.gammaincinv((n - 1) / 2, shares) / (n - 1))  # `stats.nct` is NaN far in the tails
    error = (spread**2 / n + further) ** 0.5
    bounds, shift = special.stdtrit(n - 1, 1 - level / 2) * deviations, abs(difference) / error
    return float(weights @ (special.ndtr(shift - bounds) + special.ndtr(-shift - bounds)))


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of an integral over 0..1 (Gauss-Legendre)."""
    points, weights = np.polynomial.legendre.leggauss(400)
    return (points + 1) / 2, weights / 2


def detectable(spread: float, n: int, level: float = 0.05, chance: float = 0.8, further: float = 0.0) -> float:
    """The smallest true difference that `power` finds with this chance, in the unit of the spread; inf for one pair."""
    if n < 2:
        return np.inf
    from scipy import optimize

    high = spread
    while power(high, spread, n, level, further) < chance:
        high *= 2
    return float(optimize.brentq(lambda size: power(size, spread, n, level, further) - chance, 0.0, high))


def resampled_best(choosing: ArrayLike, scores: ArrayLike) -> float:
    """The variance of the score of the best of n trials, over draws of n of them with replacement.

    It is exact: the i-th best trial (from 0) is the best of a draw with chance ((n - i) / n)^n - ((n - i - 1) / n)^n.

    Parameters
    ----------
    choosing : (n,), by which the best is chosen.
    scores : (n,), of the same trials.

    Raises
    ------
    ValueError : other shapes, no trials, or NaN.
    """
    c, x = np.asarray(choosing, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if c.ndim != 1 or c.shape != x.shape or not c.size or np.isnan(c).any() or np.isnan(x).any():
        raise ValueError(f"resampled_best: expected two times (n,) without NaN, got {c.shape}, {x.shape}")
    shares = (c.size - np.arange(c.size + 1)) / c.size
    chances, ordered = -np.diff(shares**c.size), x[np.argsort(-c, kind="stable")]
    return float(chances @ (ordered - chances @ ordered) ** 2)


class Estimate(NamedTuple):
    """A mean with its 95% interval, and the two-sided p of a mean of 0."""

    mean: float
    low: float
    high: float
    p: float


class Term(NamedTuple):
    """A part of the variance of a mean, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float


def total(terms: Sequence[Term]) -> Term:
    """The sum of independent terms."""
    variance = sum(term.variance for term in terms)
    squares = sum(term.variance**2 / term.freedom for term in terms if term.variance > 0)
    return Term(variance, variance**2 / squares if squares > 0 else 1.0)


def estimate(mean: float, terms: Sequence[Term], searches: Sequence[Term] = ()) -> Estimate:
    """The interval of a mean, and its p.

    Parameters
    ----------
    terms : of which each bounds the width of the interval by itself.
    searches : further ones, that do not: two tuning trials would bound it by Student's t of one degree of freedom.
    """
    positive = [term for term in (total([*terms, *searches]), *terms) if term.variance > 0]
    if not positive:
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    half = max(float(special.stdtrit(term.freedom, 0.975)) * term.variance**0.5 for term in positive)
    p = max(float(2 * special.stdtr(term.freedom, -abs(mean) / term.variance**0.5)) for term in positive)
    return Estimate(mean, mean - half, mean + half, p)
