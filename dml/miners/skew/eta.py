"""The skew of negative sampling, estimated from the negatives that training draws.

    eta = max over distances of (density of the drawn negatives) / (density under uniform drawing)

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 4.2, who leave eta to
intuition. The counts are those of `dml.miners.PairDistances`: negatives by bin of distance, drawn and expected
under uniform drawing by the same anchors. Neighbouring bins are joined into groups of at least one percent of the
uniform draws, so the estimate is about the same quantity for any number of draws, and draws in sparse bins count.

The largest observed ratio is biased upward, because it is the maximum of noisy numbers: uniform draws, whose eta is 1,
gave 1.17 to 1.35 on average. Therefore:

- Point estimate: the draws are split into two random halves. One half chooses the group with the largest ratio, the
  other half gives that group's ratio; the mean over many splits is the estimate. The noise that makes a group look
  largest is independent of the noise in its estimate, so nothing biases it upward.
- Interval: each group's ratio has Poisson limits. `low` is the largest lower limit, with 2.5% error shared by all
  groups. `high` is the largest upper limit, with 2.5% error for each group: it only fails if the limit fails of the one
  group that has the true maximum. Together they contain the true maximum with 95% probability or more.
- Poisson limits assume independent draws. Given several trials, the variation between them says how far that is from
  true, and the counts are divided by the dispersion.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

SHARE = 0.01  # of the uniform draws, the least in a group
LEAST = 100  # expected draws, the least in a group
SPLITS = 200
ERROR = 0.05


class Skew(NamedTuple):
    """Eta and its 95% interval. Ratios average to 1, so none of the three is below 1."""

    eta: float
    low: float
    high: float
    ratio: np.ndarray  # float (bins,): drawn over uniform; joined bins have the ratio of their group


def estimate(drawn: np.ndarray, uniform: np.ndarray) -> Skew:
    """Eta from the counts of one trial, or of several trials with the same bins.

    Parameters
    ----------
    drawn : (bins,) or (trials, bins), how many negatives were drawn.
    uniform : of the same shape, how many uniform drawing would be expected to draw, up to a factor for each trial.

    Returns
    -------
    Skew : of all trials together. Two trials or more widen the interval if their counts vary more than independent
        draws would.

    Raises
    ------
    ValueError : shapes differ, counts are negative or not finite, or fewer than 100 negatives were drawn.
    """
    g = grouped(drawn, uniform)
    low, high = _limits(g.counts, g.means)
    low, high = max(low, 1.0), max(high, 1.0)
    point = split_estimate(g.counts, g.means)
    return Skew(min(max(point, low), high), low, high, (g.counts / g.means)[g.group])


class Grouped(NamedTuple):
    """Counts of all trials together, in groups of neighbouring bins, divided by the dispersion between trials."""

    counts: np.ndarray  # float (groups,), drawn
    means: np.ndarray  # float (groups,), expected under uniform drawing
    group: np.ndarray  # int64 (bins,), the group of each bin


def grouped(drawn: np.ndarray, uniform: np.ndarray) -> Grouped:
    """The counts of `estimate` in groups. Raises as `estimate` does."""
    if np.shape(drawn) != np.shape(uniform):
        raise ValueError(f"eta: expected counts of the same shape, got {np.shape(drawn)} and {np.shape(uniform)}")
    drawn, uniform = _checked(drawn), _checked(uniform)
    totals = uniform.sum(axis=1, keepdims=True)
    if (totals == 0).any():
        raise ValueError("eta: expected uniform counts above 0 in every trial, got a sum of 0")
    if drawn.sum() < LEAST:
        raise ValueError(f"eta: expected at least {LEAST} drawn pairs, got {drawn.sum():g}")
    expected = uniform * (drawn.sum(axis=1, keepdims=True) / totals)
    group = _groups(expected.sum(axis=0))
    size = int(group[-1]) + 1
    counts, means = (np.zeros((len(drawn), size)) for _ in range(2))
    np.add.at(counts.T, group, drawn.T)
    np.add.at(means.T, group, expected.T)
    dispersion = _dispersion(counts, means)
    return Grouped(counts.sum(axis=0) / dispersion, means.sum(axis=0) / dispersion, group)


def _checked(counts: np.ndarray) -> np.ndarray:
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim not in (1, 2) or not counts.size:
        raise ValueError(f"eta: expected counts (bins,) or (trials, bins), got shape {counts.shape}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError("eta: expected finite counts from 0")
    return np.atleast_2d(counts)


def _groups(expected: np.ndarray) -> np.ndarray:
    """int64 (bins,): the group of each bin, from 0, ascending. It does not depend on where the draws are."""
    least = max(LEAST, SHARE * expected.sum())
    group = np.empty(len(expected), dtype=np.int64)
    number, inside = 0, 0.0
    for index, count in enumerate(expected):
        group[index] = number
        inside += count
        if inside >= least * (1 - 1e-9):
            number, inside = number + 1, 0.0
    return np.minimum(group, max(number - 1, 0))  # the last group takes the rest


def _dispersion(counts: np.ndarray, means: np.ndarray) -> float:
    """Variance between trials over that of independent draws, at least 1; counts and means are (trials, groups)."""
    trials, groups = counts.shape
    freedom = (trials - 1) * (groups - 1)
    if freedom == 0:
        return 1.0
    fitted = means * counts.sum(axis=0) / means.sum(axis=0)
    squared = np.divide((counts - fitted) ** 2, fitted, out=np.zeros_like(fitted), where=fitted > 0)
    return max(1.0, float(squared.sum()) / freedom)


def _limits(counts: np.ndarray, means: np.ndarray) -> tuple[float, float]:
    """The interval of the largest ratio."""
    lower, _ = ratio_limits(counts, means, ERROR / 2 / len(counts))
    _, upper = ratio_limits(counts, means, ERROR / 2)
    return float(lower.max()), float(upper.max())


def ratio_limits(counts: np.ndarray, means: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper limit of each group's ratio, each wrong with probability `error`.

    By Byar's approximation of the exact limits of a Poisson mean.
    """
    z = NormalDist().inv_cdf(1 - error)
    some = np.maximum(counts, 1e-12)
    lower = some * np.maximum(1 - 1 / (9 * some) - z / (3 * np.sqrt(some)), 0) ** 3
    upper = (counts + 1) * (1 - 1 / (9 * (counts + 1)) + z / (3 * np.sqrt(counts + 1))) ** 3
    return lower / means, upper / means


def split_estimate(counts: np.ndarray, means: np.ndarray, smallest: bool = False) -> float:
    """The mean ratio, in one half of the draws, of the group with the largest (smallest) ratio in the other half."""
    whole = np.rint(counts).astype(np.int64)
    chosen_by = np.random.default_rng(0).binomial(whole, 0.5, size=(SPLITS, len(whole)))
    seen = chosen_by / means
    best = seen.argmin(axis=1) if smallest else seen.argmax(axis=1)
    ratios = (whole - chosen_by) / (means / 2)
    return float(ratios[np.arange(SPLITS), best].mean())
