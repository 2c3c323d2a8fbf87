"""Expected risk under label noise, exact and simulated, with all positives and with the easiest one (EPS).

Model: samples have independent labels, `P(Y_i = r) = probabilities[i, r]`. For an embedding with distances D_ij the
risk is the expectation over the labels of

    triplet    sum_ijk [Y_i = Y_j != Y_k] [D_ij - D_ik + alpha]_+
    margin     sum_ij  [Y_i = Y_j] [D_ij - beta + alpha]_+ + [Y_i != Y_j] [beta - D_ij + alpha]_+

over distinct i, j, k. With EPS a positive j counts only if no other sample of i's label is nearer to i. Both sums are
divided by the number of tuples, n (n - 1) (n - 2) or n (n - 1), and with EPS by n (n - 2) or n (n - 1).

Levi et al., "Rethinking preventing class-collapsing in metric learning with margin-based losses", section 4.2 and
appendix B. Given i's label, the event "j is the nearest sample of that label" is a product of independent events along
i's neighbour order, so the exact expectation takes O(n^3) for n samples. Deviations: the paper's sums include j = i; it
divides by n^3 and n^2, with EPS by n, which changes no comparison; its proofs break equal distances "infinitesimally",
here `order` does.
"""

from __future__ import annotations

import numpy as np


def neighbour_order(distances: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
    """int64 (n, n - 1): for each sample the others, nearest first; equal distances by `order` (n, n), then index."""
    n = len(distances)
    ties = np.zeros((n, n)) if order is None else order
    nearest = [np.lexsort((np.arange(n), ties[i], distances[i])) for i in range(n)]
    return np.stack([row[row != i] for i, row in enumerate(nearest)])


def positive_weights(probabilities: np.ndarray, anchor: int, others: np.ndarray, easy: bool) -> np.ndarray:
    """float (m, t): P(Y_a = r, j is a positive) for every other sample j in neighbour order and every label r."""
    joint = probabilities[anchor] * probabilities[others]
    if not easy:
        return joint
    none_nearer = np.cumprod(1 - probabilities[others], axis=0)
    return joint * np.concatenate([np.ones((1, joint.shape[1])), none_nearer[:-1]])


def triplet_weights(probabilities: np.ndarray, anchor: int, others: np.ndarray, easy: bool) -> np.ndarray:
    """float (m, m): P(j is a positive, k a negative), row j and column k in neighbour order."""
    positive = positive_weights(probabilities, anchor, others, easy)
    weights = positive @ (1 - probabilities[others]).T
    if easy:  # a sample nearer than the easiest positive always has another label
        nearer = np.tri(len(others), k=-1, dtype=bool)
        weights = np.where(nearer, positive.sum(axis=1, keepdims=True), weights)
    np.fill_diagonal(weights, 0.0)
    return weights


def triplet(
    distances: np.ndarray, probabilities: np.ndarray, alpha: float, easy: bool = False, order: np.ndarray | None = None
) -> float:
    """The exact expected triplet risk.

    Parameters
    ----------
    distances : float (n, n), the distance that the loss uses.
    probabilities : float (n, t), rows that sum to 1.
    alpha : the margin.
    easy : with EPS.
    order : float (n, n), the order among equal distances.
    """
    n = len(distances)
    total = 0.0
    for anchor, others in enumerate(neighbour_order(distances, order)):
        near = distances[anchor, others]
        hinge = np.maximum(near[:, None] - near[None, :] + alpha, 0.0)
        total += float((triplet_weights(probabilities, anchor, others, easy) * hinge).sum())
    return total / (n * (n - 2) * (1 if easy else n - 1))


def margin(
    distances: np.ndarray,
    probabilities: np.ndarray,
    alpha: float,
    beta: float,
    easy: bool = False,
    order: np.ndarray | None = None,
) -> float:
    """The exact expected margin risk, with one beta for all; parameters as for `triplet`."""
    n = len(distances)
    total = 0.0
    for anchor, others in enumerate(neighbour_order(distances, order)):
        near = distances[anchor, others]
        positive = positive_weights(probabilities, anchor, others, easy).sum(axis=1)
        negative = 1 - probabilities[others] @ probabilities[anchor]
        total += float(positive @ np.maximum(near - beta + alpha, 0.0))
        total += float(negative @ np.maximum(beta - near + alpha, 0.0))
    return total / (n * (n - 1))


def simulate(
    distances: np.ndarray,
    probabilities: np.ndarray,
    alpha: float,
    beta: float | None = None,
    easy: bool = False,
    order: np.ndarray | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Mean risk over random labellings, and its standard error. `beta=None`: triplet risk, otherwise margin risk.

    The other parameters are as for `triplet`; `draws` labellings are drawn from `seed`.
    """
    n = len(probabilities)
    generator = np.random.default_rng(seed)
    neighbours = neighbour_order(distances, order)
    ends = np.cumsum(probabilities, axis=1)[:, :-1]
    off: np.ndarray = ~np.eye(n, dtype=bool)
    risks = np.empty(draws)
    for draw in range(draws):
        labels = (generator.random((n, 1)) > ends).sum(axis=1)
        same: np.ndarray = np.equal.outer(labels, labels) & off
        positive = same
        other = np.logical_and(off, ~same)
        if easy:
            agrees = np.take_along_axis(same, neighbours, axis=1)
            positive = np.zeros_like(same)
            first = np.take_along_axis(neighbours, agrees.argmax(axis=1)[:, None], axis=1)
            np.put_along_axis(positive, first, agrees.any(axis=1, keepdims=True), axis=1)
        if beta is None:
            hinge = np.maximum(distances[:, :, None] - distances[:, None, :] + alpha, 0.0)
            kept = positive[:, :, None] * other[:, None, :]
            risks[draw] = (hinge * kept).sum() / (n * (n - 2) * (1 if easy else n - 1))
        else:
            pulled = np.maximum(distances - beta + alpha, 0.0)[positive].sum()
            pushed = np.maximum(beta - distances + alpha, 0.0)[other].sum()
            risks[draw] = (pulled + pushed) / (n * (n - 1))
    return float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(draws))
