"""The least of a function over a rectangle, by a grid and a zoom into its best places. It uses no derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (n, k) twice -> (n, k)

GRID, KEPT, ROUNDS = 21, 3, 60


def minimum(function: Function, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    """The least values (n,) of n functions, the i-th over [0, width_i] x [0, height_i].

    The two axes should have the same unit, because the zoom takes steps of the same size along both: valleys along a
    diagonal are followed.

    Parameters
    ----------
    function : vectorised; row i of its arguments (n, k) belongs to the i-th function.
    width, height : (n,), may be 0.
    """
    sides = [width, height]
    grid = np.linspace(0, 1, GRID)
    shares = [axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij")]
    places = [side[:, None] * share for side, share in zip(sides, shares, strict=True)]
    table = function(*places).reshape(-1, GRID, GRID)
    padded = np.pad(table, ((0, 0), (1, 1), (1, 1)), constant_values=np.inf)
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    around = np.min([padded[:, i : i + GRID, j : j + GRID] for i, j in shifts], axis=0)
    minima = np.where(table <= around, table, np.inf).reshape(len(table), -1)
    best, rows = table.min(axis=(1, 2)), np.arange(len(table))
    for kept in np.argpartition(minima, KEPT, axis=1)[:, :KEPT].T:
        best = np.minimum(best, _zoomed(function, [place[rows, kept] for place in places], sides))
    return best


def _zoomed(function: Function, place: list[np.ndarray], sides: list[np.ndarray]) -> np.ndarray:
    """The least value (n,) near a place: steps to the best of 5 x 5, halved unless it is at their edge."""
    offsets = np.linspace(-1, 1, 5)
    ways = [axis.ravel() for axis in np.meshgrid(offsets, offsets, indexing="ij")]
    at_edge = np.maximum(*np.abs(ways)) == 1
    reach, rows = np.maximum(*sides) / (GRID - 1), np.arange(len(sides[0]))
    value = function(*(p[:, None] for p in place))[:, 0]
    for _ in range(ROUNDS):
        tried = [
            np.clip(p[:, None] + reach[:, None] * way, 0, side[:, None])
            for p, way, side in zip(place, ways, sides, strict=True)
        ]
        values = function(*tried)
        best = values.argmin(axis=1)
        better = values[rows, best] < value
        value = np.where(better, values[rows, best], value)
        place = [np.where(better, new[rows, best], old) for new, old in zip(tried, place, strict=True)]
        reach = np.where(better & at_edge[best], reach, reach / 2)
    return value
