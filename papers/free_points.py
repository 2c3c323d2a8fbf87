"""The minimum of a risk over points that move freely, in space or on the unit sphere (L-BFGS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

Slopes = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Squared distances (n, n) -> the risk, and its derivative by each squared distance (n, n)."""


class Minimum(NamedTuple):
    """Where the descent ends."""

    points: np.ndarray  # float (n, D), on the sphere if it was asked for
    risk: float


def squared(points: np.ndarray) -> np.ndarray:
    """float (n, n): the squared distances of points (n, D), never below 0."""
    difference = points[:, None] - points[None]
    return np.einsum("ijd,ijd->ij", difference, difference)


def descend(risk: Slopes, start: np.ndarray, sphere: bool = False, steps: int = 2000) -> Minimum:
    """The end of a descent from `start` (n, D).

    Parameters
    ----------
    risk : see `Slopes`.
    sphere : the points are normalised before distances are taken.
    steps : at most so many.
    """

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        raw = flat.reshape(start.shape)
        points, norms = _placed(raw, sphere)
        total, slopes = risk(squared(points))
        both = slopes + slopes.T
        gradient = 2 * (both.sum(axis=1, keepdims=True) * points - both @ points)
        if sphere:
            gradient = (gradient - (gradient * points).sum(axis=1, keepdims=True) * points) / norms
        return total, gradient.ravel()

    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-15, "gtol": 1e-12}
    end = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return Minimum(_placed(end.x.reshape(start.shape), sphere)[0], float(end.fun))


def _placed(raw: np.ndarray, sphere: bool) -> tuple[np.ndarray, np.ndarray]:
    norms = np.linalg.norm(raw, axis=1, keepdims=True) if sphere else np.ones((len(raw), 1))
    return raw / norms, norms
