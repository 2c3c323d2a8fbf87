"""Random pairs of arcs on the unit sphere, for LoOp's computations (Vasudeva et al., ICCV 2021).

What LoOp computes depends only on the inner products of the four ends. Those of k Gaussian vectors in D dimensions have
a Wishart distribution, whose Bartlett factor gives vectors of k coordinates with the same joint distribution: 512
dimensions cost as much as 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Arcs(NamedTuple):
    """n pairs of arcs x1 -> x2 and y1 -> y2. Each end is float64 (n, d), unit vectors."""

    x1: np.ndarray
    x2: np.ndarray
    y1: np.ndarray
    y2: np.ndarray


def unit(x: np.ndarray) -> np.ndarray:
    """Rows divided by their lengths, (..., d)."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def gaussians(rng: np.random.Generator, n: int, count: int, dimension: int) -> np.ndarray:
    """n times `count` vectors of independent standard normals: (count, n, min(count, dimension)), up to a rotation."""
    if dimension <= count:
        return rng.standard_normal((count, n, dimension))
    factor = np.zeros((count, n, count))
    for i in range(count):
        factor[i, :, :i] = rng.standard_normal((n, i))
        factor[i, :, i] = np.sqrt(rng.chisquare(dimension - i, n))
    return factor


def uniform(rng: np.random.Generator, n: int, dimension: int) -> Arcs:
    """Four independent uniform points of the sphere."""
    return Arcs(*unit(gaussians(rng, n, 4, dimension)))


def of_classes(rng: np.random.Generator, n: int, dimension: int, spread: float) -> Arcs:
    """Ends around two independent uniform means: the direction of mean + spread * (normals / sqrt(dimension)).

    In many dimensions the angle between two samples of a class is about arccos(1 / (1 + spread^2)).
    """
    vectors = gaussians(rng, n, 6, dimension)
    noise = spread * vectors[2:] / np.sqrt(dimension)
    first, second = unit(vectors[:2])
    return Arcs(*unit(np.stack([first + noise[0], first + noise[1], second + noise[2], second + noise[3]])))


def nearly_degenerate(rng: np.random.Generator, n: int, dimension: int) -> dict[str, Arcs]:
    """Arcs at which formulas that divide by an angle, or by `ab + cd`, lose their digits or fail."""
    x1, x2, y1, y2 = uniform(rng, n, dimension)
    across = rng.standard_normal(x1.shape)
    tilt = unit(across - (across * x1).sum(1, keepdims=True) * x1)
    kinds = {"x1 = x2": Arcs(x1, x1, y1, y2), "x1 = x2 and y1 = y2": Arcs(x1, x1, y1, y1)}
    for gap in (1e-3, 1e-6, 1e-9):
        kinds[f"x1 and x2 {gap:g} apart"] = Arcs(x1, unit(x1 + gap * tilt), y1, y2)
    for gap in (1e-3, 1e-6):
        kinds[f"x1 and x2 opposite within {gap:g}"] = Arcs(x1, unit(-x1 + gap * tilt), y1, y2)
    kinds["a common end"] = Arcs(x1, x2, x1, y2)
    kinds["the same arc"] = Arcs(x1, x2, x1, x2)
    kinds["the same arc reversed"] = Arcs(x1, x2, x2, x1)
    kinds["parallel arcs"] = _parallel(rng, n)
    kinds["arcs in orthogonal planes"] = _orthogonal(rng, n)
    return kinds


def _parallel(rng: np.random.Generator, n: int) -> Arcs:
    """Two planes of 4-space that turn together: every point of an arc is equally far from the other circle."""
    lift = rng.uniform(0.1, 1.5, (n, 1))
    angles = np.sort(rng.uniform(0, 3, (n, 2)), axis=1), np.sort(rng.uniform(0, 3, (n, 2)), axis=1)
    flat = [np.stack([np.cos(a[:, k]), np.sin(a[:, k])], axis=1) for a in angles for k in range(2)]
    low = [np.hstack([point, np.zeros_like(point)]) for point in flat[:2]]
    high = [np.hstack([np.cos(lift) * point, np.sin(lift) * point]) for point in flat[2:]]
    return Arcs(*low, *high)


def _orthogonal(rng: np.random.Generator, n: int) -> Arcs:
    """Every point of one arc is at a right angle to every point of the other: a = b = c = d = 0."""
    angles = rng.uniform(0, 3, (4, n))
    points = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    zero = np.zeros_like(points[0])
    return Arcs(*(np.hstack([p, zero]) for p in points[:2]), *(np.hstack([zero, p]) for p in points[2:]))
