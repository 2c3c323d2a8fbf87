"""Which embeddings have the least expected risk under label noise, with all positives.

Levi et al., "Rethinking preventing class-collapsing in metric learning with margin-based losses", theorems 1 and 2: t
groups, a sample has its group's label with probability p and each other label with (1 - p) / (t - 1).

The least risk is known exactly. A hinge and its reverse with weights c and c' cost at least 2 alpha min(c, c'), so with

    s = P(two samples of one group have the same label) = p^2 + (1 - p)^2 / (t - 1)
    u = P(two samples of two groups have the same label) < 1/2

no embedding is below `least_triplet` and `least_margin`, and an embedding that attains them is a minimiser. They are
attained by the regular simplex: any distance w >= 0 between samples of a group, and w + alpha (triplet) or w + 2 alpha
(margin, beta = w + alpha) between groups. The collapsed embedding is the case w = 0.

`Count` says which triples are summed. `distinct`: i, j, k differ, as in training. `all`: every i, j, k, as the paper
prints the sum, where a sample has the same label as itself. `proof`: every i, j, k as the proof computes it, as if a
sample's label were independent of itself.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

Count = Literal["distinct", "all", "proof"]


def triplet(distances: np.ndarray, probabilities: np.ndarray, alpha: float, count: Count = "distinct") -> float:
    """The expected triplet risk, divided by n^3; distances (n, n), probabilities (n, t). O(n^3 t), for small n."""
    hinge = np.maximum(distances[:, :, None] - distances[:, None, :] + alpha, 0)
    return float((_triples(probabilities, count) * hinge).sum()) / len(distances) ** 3


def margin(
    distances: np.ndarray, probabilities: np.ndarray, alpha: float, beta: float, count: Count = "distinct"
) -> float:
    """The expected margin risk, divided by n^2; one beta for all."""
    same, other = _pairs(probabilities, count)
    pulled, pushed = np.maximum(distances - beta + alpha, 0), np.maximum(beta - distances + alpha, 0)
    return float((same * pulled + other * pushed).sum()) / len(distances) ** 2


def least_triplet(probabilities: np.ndarray, alpha: float) -> float:
    """No embedding has a lower expected triplet risk over distinct triples."""
    weights = _triples(probabilities, "distinct")
    return alpha * float(np.minimum(weights, weights.transpose(0, 2, 1)).sum()) / len(probabilities) ** 3


def least_margin(probabilities: np.ndarray, alpha: float) -> float:
    """No embedding and no beta have a lower expected margin risk over distinct pairs."""
    same, other = _pairs(probabilities, "distinct")
    return 2 * alpha * float(np.minimum(same, other).sum()) / len(probabilities) ** 2


def simplex(group: np.ndarray, within: float, between: float) -> np.ndarray:
    """float (n, n): all samples of a group `within` apart, samples of two groups `between` apart."""
    distances = np.where(np.equal.outer(group, group), within, between)
    np.fill_diagonal(distances, 0.0)
    return distances


def agreement(p: float, groups: int) -> float:
    """s: how often two samples of one group have the same label."""
    return p**2 + (1 - p) ** 2 / (groups - 1)


def turning(groups: int) -> float:
    """The p with s = 1/2. Below it, samples of one group are best 2 alpha apart for the margin loss."""
    return (1 + math.sqrt(1 + groups * (groups - 3) / 2)) / groups


def _pairs(probabilities: np.ndarray, count: Count) -> tuple[np.ndarray, np.ndarray]:
    """float (n, n) both: P(i and j have the same label), and P(they differ)."""
    same = probabilities @ probabilities.T
    other = 1 - same
    if count != "proof":
        np.fill_diagonal(same, 1.0 if count == "all" else 0.0)
        np.fill_diagonal(other, 0.0)
    return same, other


def _triples(probabilities: np.ndarray, count: Count) -> np.ndarray:
    """float (n, n, n): P(i and j have the same label, k another)."""
    same = probabilities @ probabilities.T
    weights = same[:, :, None] - np.einsum("ir,jr,kr->ijk", *[probabilities] * 3, optimize=True)
    if count == "proof":
        return weights
    each = np.arange(len(same))
    weights[each, each, :] = 1 - same if count == "all" else 0.0
    weights[each, :, each] = 0.0
    weights[:, each, each] = 0.0
    return weights
