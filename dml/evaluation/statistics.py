"""How sure a score is: intervals over seeds, paired comparisons over seeds and over queries, many of them at once.

Small samples of seeds: Student's t. Queries: the bootstrap (Efron & Tibshirani 1993, chapter 16), whose pairs are
resampled together. Several comparisons: Holm (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dml.seeding import numpy_generator


class Summary(NamedTuple):
    """Of one method over seeds. Spread and interval are NaN for a single value."""

    mean: float
    std: float  # of the sample: divided by n - 1
    low: float  # 95% interval of the mean, Student's t
    high: float
    n: int


class Comparison(NamedTuple):
    """Of two methods on the same seeds or queries."""

    difference: float  # mean of first - second
    low: float  # 95% bootstrap interval (percentiles) of the difference
    high: float
    p: float  # two-sided, bootstrap
    p_t: float  # two-sided, paired t-test; NaN below two pairs
    n: int


def summary(values: ArrayLike, level: float = 0.95) -> Summary:
    """Mean, standard deviation and confidence interval of a score over seeds, (n,).

    Raises
    ------
    ValueError : no values, or not one-dimensional.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"summary: expected at least one value (n,), got shape {x.shape}")
    if x.size == 1:
        return Summary(float(x[0]), np.nan, np.nan, np.nan, 1)
    mean, std = float(x.mean()), float(x.std(ddof=1))
    half = float(stats.t.ppf((1 + level) / 2, x.size - 1)) * std / x.size**0.5
    return Summary(mean, std, mean - half, mean + half, int(x.size))


def compare(first: ArrayLike, second: ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Two methods, paired: over seeds, or over queries (`Scores.per_query`), (n,) each.

    Pairs in which either value is NaN (queries without a relevant row) are left out. The bootstrap's p is the share
    of resampled mean differences, moved to a mean of zero, that are as far from zero as the observed one.

    Raises
    ------
    ValueError : shapes that differ, or no pair.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"compare: expected two paired samples (n,), got {a.shape} and {b.shape}")
    d = (a - b)[~np.isnan(a - b)]
    if d.size == 0:
        raise ValueError("compare: expected at least one pair without NaN")
    draw = numpy_generator(seed, "paired bootstrap")
    step = max(1, (1 << 22) // d.size)
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    means = np.concatenate([d[draw.integers(d.size, size=(size, d.size))].mean(1) for size in sizes])
    observed = float(d.mean())
    as_far = np.abs(means - observed) >= abs(observed) - 1e-12 * np.abs(d).max()
    p = (1 + int(as_far.sum())) / (1 + resamples)
    low, high = np.quantile(means, [0.025, 0.975])
    return Comparison(observed, float(low), float(high), p, _paired_t(d), int(d.size))


def _paired_t(differences: np.ndarray) -> float:
    """Two-sided p of a mean of zero; 1 where all are 0, the sign test's where all are the same other number."""
    if differences.size < 2:
        return np.nan
    if np.ptp(differences) == 0:
        return 1.0 if differences[0] == 0 else 2.0 ** (1 - differences.size)  # t knows no spread: p would be 0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def holm(p_values: Sequence[float] | Mapping[str, float]) -> np.ndarray | dict[str, float]:
    """p-values adjusted for as many comparisons (Holm's step-down), in the given order or under the given names.

    Raises
    ------
    ValueError : a value outside 0..1.
    """
    if isinstance(p_values, Mapping):
        adjusted = np.asarray(holm(list(p_values.values())))
        return dict(zip(p_values, adjusted.tolist(), strict=True))
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"holm: expected p-values in 0..1, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    out = np.empty_like(p)
    out[order] = stepped
    return out
