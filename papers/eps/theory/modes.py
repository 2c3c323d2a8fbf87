"""Easy positives: the expected risk of classes split into modes, for any number of samples.

Levi et al., section 4.3 and appendix B. All anchors of a group see the same three blocks of neighbours: the other
samples of their own mode at distance 0, the rest of their group at distance `rest`, and the other groups at distance
`foreign`, with 0 <= rest <= foreign. Only sums of weights over blocks enter, so a risk costs O(n t), and as a function
of the distances it is convex and piecewise linear: its minimum is at one of a few corners.

Risks are those of one anchor: the sum over its tuples, not divided. `expected_risk` has the same weights for arbitrary
distances.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from papers.eps.theory import expected_risk


class Blocks(NamedTuple):
    """What an anchor's blocks of neighbours weigh: own mode, rest of the group, other groups."""

    positive: np.ndarray  # (3,): the expected number of easy positives in a block
    negative: np.ndarray  # (3,): the expected number of negatives
    triplet: np.ndarray  # (3, 3): the expected number of triples, row: block of the positive, column: of the negative


@cache
def blocks(n: int, groups: int, p: float, mode: int) -> Blocks:
    """The weights for an anchor of the first group, whose mode has `mode` samples, the anchor included.

    Parameters
    ----------
    n : samples, a multiple of `groups`.
    p : the probability of the right label.
    """
    size = n // groups
    if n % groups or not 1 <= mode <= size:
        raise ValueError(f"expected a multiple of {groups} samples and modes of 1 to {size}, got {n} and {mode}")
    in_group = (np.arange(n) // size)[:, None] == np.arange(groups)
    labels = np.where(in_group, p, (1 - p) / (groups - 1))
    positive = expected_risk.positive_weights(labels, 0, np.arange(1, n), easy=True)
    negative = 1 - labels[1:]
    place = np.arange(n - 1)
    until = np.concatenate([np.zeros((1, groups)), negative.cumsum(axis=0)])
    ends = [0, mode - 1, size - 1, n - 1]
    spans = list(pairwise(ends))
    triplet = np.zeros((3, 3))
    for column, (low, high) in enumerate(spans):
        after = until[high] - until[np.clip(place + 1, low, high)]
        before = np.clip(place, low, high) - low  # samples nearer than the easy positive are negatives
        each = (positive * after).sum(axis=1) + positive.sum(axis=1) * before
        triplet[:, column] = [each[start:stop].sum() for start, stop in spans]
    differs = negative @ labels[0]
    return Blocks(
        np.array([positive[low:high].sum() for low, high in spans]),
        np.array([differs[low:high].sum() for low, high in spans]),
        triplet,
    )


def triplet(weights: Blocks, alpha: float, rest: float, foreign: float) -> float:
    """The expected triplet risk of one anchor."""
    distances = np.array([0.0, rest, foreign])
    hinge = np.maximum(distances[:, None] - distances[None, :] + alpha, 0)
    return float((weights.triplet * hinge).sum())


def margin(weights: Blocks, alpha: float, beta: float, rest: float, foreign: float) -> float:
    """The expected margin risk of one anchor."""
    distances = np.array([0.0, rest, foreign])
    pulled, pushed = np.maximum(distances - beta + alpha, 0), np.maximum(beta - distances + alpha, 0)
    return float(weights.positive @ pulled + weights.negative @ pushed)


def best_triplet(weights: Blocks, alpha: float) -> float:
    """The least expected triplet risk over `rest` and `foreign`."""
    corners = ((0, 0), (0, 1), (1, 1), (1, 2))  # where two of rest, foreign, foreign - rest are 0 or alpha
    return min(triplet(weights, alpha, rest * alpha, foreign * alpha) for rest, foreign in corners)


def best_margin(weights: Blocks, alpha: float) -> float:
    """The least expected margin risk over `rest`, `foreign` and beta, which may be negative."""
    corners = ((0, 0), (0, 2), (2, 2))
    risks = [margin(weights, alpha, alpha, rest * alpha, foreign * alpha) for rest, foreign in corners]
    return min([*risks, margin(weights, alpha, -alpha, 0.0, 0.0)])


def collapsed_at_least(n: int, groups: int, p: float, alpha: float, loss: str) -> float:
    """A lower bound of the total risk of every embedding in which one group is a single point, whatever else it does.

    Triplet: wherever the easy positive is, a negative of the anchor's group is at distance 0 and costs alpha or more;
    the other groups' anchors are counted with 0. Margin, for two groups: beta costs the negatives (beta + alpha)_+ each
    and the easy positive at least (alpha - beta)_+; each other anchor costs at least `least_margin`.
    """
    size = n // groups
    chances = np.full(groups, (1 - p) / (groups - 1))
    chances[0] = p
    if loss == "triplet":
        positive = 1 - (1 - chances) ** (size - 2)
        return size * alpha * float((chances * (size - 1) * (1 - chances) * positive).sum())
    exists = float((chances * (1 - (1 - chances) ** (size - 1))).sum())
    negatives = (size - 1) * (1 - float((chances**2).sum()))
    # The cost is piecewise linear in beta and least at beta = alpha or -alpha.
    inside = 2 * alpha * min(exists, negatives)
    return size * inside + (n - size) * least_margin(n, groups, p, alpha)


def least_margin(n: int, groups: int, p: float, alpha: float) -> float:
    """The least margin risk of one anchor over all distances and beta, its own group being its nearest neighbours.

    For two groups no other order of the neighbours has less, see the tests.
    """
    weights = blocks(n, groups, p, 2)
    return 2 * alpha * float(min(weights.positive[0], weights.negative[0]) + weights.positive[1:].sum())
