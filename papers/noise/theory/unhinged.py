"""The unhinged triplet loss under uniform label noise, on the unit sphere (Le and Odobez, section 4.1).

With one negative for each positive pair, the expected risk is a sum over pairs of the true kinds,

    m+ w+ sum+ d_ij - m- w- sum- d_ij + constant

with the multipliers of equation 22, m+ = 1 - q+ (1 + w- / w+) and m- = 1 - q- (1 + w+ / w-). Q is the smaller one. With
Q > 0 both sums keep their signs, so an embedding that minimises both clean sums also minimises the noisy risk.

The paper's weights are w+ = 1 and w- = 1 / K. A class of s samples has (s - 1) positives and (K - 1) s negatives for
each anchor, so w- = 1 / (K - 1) for large s. With that weight both multipliers are (1 - p K / (K - 1))^2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from papers import free_points
from papers.noise.theory import pair_noise

DIAMETER = 2.0  # of the unit sphere: the constant of the auxiliary losses
SMOOTHINGS = (1e-3, 1e-5, 1e-7)


class Minimum(NamedTuple):
    """The best embedding that descents found."""

    risk: float
    within: float  # the mean distance of samples of one class
    between: float  # of samples of two classes


def multipliers(p: float, classes: int, balanced: bool = False) -> tuple[float, float]:
    """m+ and m-, for w- = 1 / K, or 1 / (K - 1) if `balanced`."""
    weight = negative_weight(classes, balanced)
    plus = pair_noise.positive_to_negative(p, classes)
    minus = pair_noise.negative_to_positive(p, classes)
    return 1 - plus * (1 + weight), 1 - minus * (1 + 1 / weight)


def negative_weight(classes: int, balanced: bool) -> float:
    """w-."""
    return 1 / (classes - 1 if balanced else classes)


def simplex_risk(p: float, classes: int, samples: int, balanced: bool = False) -> float:
    """The risk of classes that are the corners of a regular simplex, as `minimum` counts it."""
    between = np.sqrt(2 * classes / (classes - 1))
    return (
        -multipliers(p, classes, balanced)[1] * negative_weight(classes, balanced) * (classes - 1) * between * samples
    )


def minimum(p: float, classes: int, samples: int, balanced: bool = False, starts: int = 3, seed: int = 0) -> Minimum:
    """Minimise the expected noisy risk over free points on the sphere in K dimensions.

    Parameters
    ----------
    p : the noise rate.
    classes : K; a regular simplex of K corners fits into K dimensions.
    samples : in each class.
    starts : random starts; the constant map and the simplex are not among them.

    Returns
    -------
    Found : the risk is a sum over j != i, averaged over i, without the constant.
    """
    group = np.repeat(np.arange(classes), samples)
    same = np.equal.outer(group, group) & ~np.eye(len(group), dtype=bool)
    other = np.not_equal.outer(group, group)
    plus, minus = multipliers(p, classes, balanced)
    weights = (plus * same - minus * negative_weight(classes, balanced) * other) / len(group)
    generator = np.random.default_rng(seed)
    ends = []
    for _ in range(starts):
        points = generator.normal(size=(len(group), classes))
        for smoothing in SMOOTHINGS:  # sqrt has no slope at 0, where samples of a class meet
            points = free_points.descend(_smoothed(weights, smoothing), points, sphere=True).points
        distances = np.sqrt(free_points.squared(points))
        ends.append(
            Minimum(float((weights * distances).sum()), float(distances[same].mean()), float(distances[other].mean()))
        )
    return min(ends)


def _smoothed(weights: np.ndarray, smoothing: float) -> free_points.Slopes:
    def risk(squared: np.ndarray) -> tuple[float, np.ndarray]:
        distances = np.sqrt(squared + smoothing**2)
        return float((weights * distances).sum()), weights / (2 * distances)

    return risk


def triplet(points: np.ndarray, alpha: float) -> float:
    """The unhinged triplet loss (equation 12) of an anchor, a positive and a negative: points (3, D)."""
    return DIAMETER + _distance(points, 1) - _distance(points, 2) + alpha


def marginal(points: np.ndarray, alpha: float, beta: Callable[[int], float]) -> float:
    """The unhinged marginal losses (equation 31) of the same anchor's two pairs; `beta` of the pair's other end."""
    pulled = DIAMETER + (_distance(points, 1) - beta(1)) + alpha
    return pulled + DIAMETER - (_distance(points, 2) - beta(2)) + alpha


def _distance(points: np.ndarray, other: int) -> float:
    return float(np.linalg.norm(points[0] - points[other]))
