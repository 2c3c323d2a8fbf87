"""The ratio of weights on which the bound of the marginal loss depends, estimated from the pairs that training draws.

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

from typing import NamedTuple

import numpy as np

from dml.miners.skew import eta


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


def estimate(
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
    counts, means, _ = eta.grouped(drawn[:, chosen], uniform[:, chosen])
    share = float(uniform[:, chosen].sum() / uniform.sum())
    counts, means = counts[counts > 0], means[counts > 0]
    error = eta.ERROR / 4  # four limits: two of each weight
    one, all_groups = (eta.ratio_limits(counts, means, e) for e in (error, error / len(counts)))
    mean = counts.sum() / means.sum()  # the smallest weight is at most the mean, the largest at least
    if smallest:
        low, high = min(mean, one[0].min()), min(mean, all_groups[1].min())
    else:
        low, high = max(mean, all_groups[0].max()), max(mean, one[1].max())
    point = eta.split_estimate(counts, means, smallest)
    return _Weight(*(float(value) / share for value in (min(max(point, low), high), low, high)))
