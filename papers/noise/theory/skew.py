"""The largest rate of uniform label noise at which a loss keeps the minimiser that it has without noise.

    unhinged triplet, 1-1 sampling     p < 1 - eps(K)
    triplet with hinge and mining      p < 1 - sqrt(1 - 1 / eta) - eps(K)
    marginal                           p < 1 - sqrt(1 - gamma) - eps(K)

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", equations 22 to 27 and 37. A loss
that weighs a positive pair by w+ and a negative pair by w- tolerates p if both kinds of pairs fulfil

    1 - q+ (1 + w- / w+) >= 0        1 - q- (1 + w+ / w-) >= 0

(equation 22; `pair_noise` has q+ and q-), with w+ = 1, and w- = 1 / K, or between 1 / (eta K) and eta / K, or gamma /
K. The paper does not specify eps(K); here the two quadratics are solved for K classes, and `classes=None` means
infinitely many.

Deviations: equation 26 prints q^2 instead of p^2 in `1 - (2p - p^2) eta >= 0`; the text before equation 37 requires Q
>= 0.5, but the formula follows from Q >= 0; q+ is the one found by counting.

The skew of negative sampling, estimated from the negatives that training draws.

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

The ratio of weights on which the bound of the marginal loss depends, estimated from the pairs that training draws.

    gamma = eta- / eta+

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 5.3 and equation 37: eta- is
the smallest weight of a negative pair, and eta+ the largest of a positive pair, both relative to uniform drawing and
among the pairs whose weight is not zero. A pair's weight is zero if it is never drawn, or if the hinge makes its loss
zero. The weight left over goes to the other pairs, so both numbers exceed 1 if those are drawn evenly: they are one
over the share of pairs that have a loss.

The counts are those of `dml.miners.PairDistances`; bins are joined into groups as in `eta`. A group that was never
drawn has zero weight. The point estimates are made without bias as in `eta`, and so are the limits: the interval of
gamma contains the true value with 95% probability or more.

Deviation: the paper defines the weights for each pair. Here they are means over the pairs of a group of distances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

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


def estimate_eta(drawn: np.ndarray, uniform: np.ndarray) -> Skew:
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


def eta_of_trial(diagnostics: Mapping[str, Any]) -> float:
    """Eta of what one trial logged; NaN if it drew too few negatives."""
    drawn, uniform = (np.array(diagnostics.get(f"eta_{name}", ()), float) for name in ("drawn", "uniform"))
    try:
        return estimate_eta(drawn, uniform).eta
    except ValueError:
        return math.nan


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


class Interval(NamedTuple):
    """A bound on the noise rate, and its 95% interval."""

    bound: float
    low: float
    high: float


def unhinged(classes: int | None = None) -> float:
    """The largest p for the unhinged triplet loss with one negative for each positive pair."""
    return hinge(1.0, classes)


def hinge(eta: float, classes: int | None = None) -> float:
    """The largest p for the triplet loss with hinge and mining.

    Parameters
    ----------
    eta : how many times more often the most favoured negative pairs are drawn than under uniform drawing, at least 1.
    classes : K, at least 2; None: infinitely many.
    """
    if not eta >= 1:
        raise ValueError(f"eta: expected at least 1, got {eta!r}")
    return _largest(1 / eta, classes)


def interval(skew: Skew, classes: int | None = None) -> Interval:
    """The bound for the triplet loss with hinge and mining, from an estimate of eta (`estimate_eta`).

    A larger eta tolerates less noise: the bound's lower end comes from the upper end of eta.
    """
    return Interval(hinge(skew.eta, classes), hinge(skew.high, classes), hinge(skew.low, classes))


def marginal(gamma: float, classes: int | None = None) -> float:
    """The largest p for the marginal loss.

    Parameters
    ----------
    gamma : the smallest weight of a negative pair over the largest weight of a positive pair, both relative to uniform
        drawing; 0 to 1.
    classes : K, at least 2; None: infinitely many.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma: expected 0 to 1, got {gamma!r}")
    return _largest(gamma, classes)


def _largest(least: float, classes: int | None) -> float:
    """The largest p that fulfils both conditions, for w+ = 1 and K w- of at least `least` <= 1."""
    if classes is None:
        return 1 - math.sqrt(1 - least)
    if classes < 2:
        raise ValueError(f"classes: expected at least 2, got {classes!r}")
    # Both conditions have the form `(K p / (K - 1) - 1)^2 >= 1 - c`. c is smaller for negative pairs, which decide.
    c = least * classes / (least + classes)
    return (classes - 1) / classes * (1 - math.sqrt(1 - c))


class Gamma(NamedTuple):
    """Gamma with its 95% interval, none above 1, and the two weights that it is the ratio of."""

    gamma: float
    low: float
    high: float
    negative: float  # eta-
    positive: float  # eta+


class _Weight(NamedTuple):
    value: float
    low: float
    high: float


def estimate_gamma(
    negatives: tuple[np.ndarray, np.ndarray],
    positives: tuple[np.ndarray, np.ndarray],
    negatives_cost: np.ndarray | None = None,
    positives_cost: np.ndarray | None = None,
) -> Gamma:
    """Gamma from the counts of one trial, or of several trials with the same bins.

    Parameters
    ----------
    negatives, positives : (drawn, uniform), each (bins,) or (trials, bins): how many pairs were drawn, and how many
        uniform drawing would be expected to draw.
    negatives_cost, positives_cost : bool (bins,), the bins in which a pair has a loss; None: all.

    Raises
    ------
    ValueError : shapes differ, counts are negative or not finite, or fewer than 100 pairs of a kind that have a loss
        were drawn.
    """
    largest = _weight(*positives, positives_cost, smallest=False)
    smallest = _weight(*negatives, negatives_cost, smallest=True)
    value, low, high = (
        min(1.0, ratio)
        for ratio in (smallest.value / largest.value, smallest.low / largest.high, smallest.high / largest.low)
    )
    return Gamma(value, low, high, smallest.value, largest.value)


def _weight(drawn: np.ndarray, uniform: np.ndarray, cost: np.ndarray | None, smallest: bool) -> _Weight:
    """The smallest weight above 0, or the largest weight, of the pairs with a loss."""
    drawn, uniform = np.atleast_2d(drawn), np.atleast_2d(uniform)
    chosen = slice(None) if cost is None else cost
    counts, means, _ = grouped(drawn[:, chosen], uniform[:, chosen])
    share = float(uniform[:, chosen].sum() / uniform.sum())
    counts, means = counts[counts > 0], means[counts > 0]
    error = ERROR / 4  # four limits: two of each weight
    one, all_groups = (ratio_limits(counts, means, e) for e in (error, error / len(counts)))
    mean = counts.sum() / means.sum()  # the smallest weight is at most the mean, the largest at least
    if smallest:
        low, high = min(mean, one[0].min()), min(mean, all_groups[1].min())
    else:
        low, high = max(mean, all_groups[0].max()), max(mean, one[1].max())
    point = split_estimate(counts, means, smallest)
    return _Weight(*(float(value) / share for value in (min(max(point, low), high), low, high)))
