"""What LoOp gains over its arcs' ends: the distance of the nearest two ends less that of the arcs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.loop.theory.cases import angle, box_of, least
from papers.loop.theory.random_arcs import Arcs, of_classes, uniform


class Gain(NamedTuple):
    """Over many pairs of arcs of one kind."""

    mean: float
    error: float  # the standard error of the mean
    median: float
    relative: float  # the mean gain over the mean distance of the nearest ends
    cases: np.ndarray  # (9,), the share of pairs at which each case has the minimum
    within: float  # the mean angle between the two ends of an arc, in degrees

    @property
    def interior(self) -> float:
        """The share of pairs whose closest points are both between the ends."""
        return float(self.cases[0])

    @property
    def corners(self) -> float:
        """The share of pairs whose closest points are ends: there the gain is 0."""
        return float(self.cases[5:].sum())


def gain(arcs: Arcs) -> Gain:
    """The gain of LoOp over the hardest of the four distances between ends."""
    box = box_of(arcs)
    closest = least(box)
    nearest = nearest_ends(arcs)
    gains = nearest - np.minimum(closest.distance, nearest)
    return Gain(
        float(gains.mean()),
        float(gains.std() / np.sqrt(len(gains))),
        float(np.median(gains)),
        float(gains.mean() / nearest.mean()),
        np.bincount(closest.case, minlength=9) / len(gains),
        float(np.degrees((angle(arcs.x1, arcs.x2) + angle(arcs.y1, arcs.y2)).mean() / 2)),
    )


def nearest_ends(arcs: Arcs) -> np.ndarray:
    """The least of the four distances between ends (n,)."""
    return np.min([np.linalg.norm(x - y, axis=1) for x in arcs[:2] for y in arcs[2:]], axis=0)


def against_dimension(dimensions: tuple[int, ...], n: int, spread: float | None = None, seed: int = 0) -> list[Gain]:
    """The gain for each dimension: of uniform arcs, or of arcs within classes (`random_arcs.of_classes`)."""
    rng = np.random.default_rng(seed)
    return [gain(uniform(rng, n, d) if spread is None else of_classes(rng, n, d, spread)) for d in dimensions]


def against_tightness(spreads: tuple[float, ...], dimension: int, n: int, seed: int = 0) -> list[Gain]:
    """The gain for each spread of the classes."""
    rng = np.random.default_rng(seed)
    return [gain(of_classes(rng, n, dimension, spread)) for spread in spreads]
