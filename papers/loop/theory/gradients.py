"""Equations 27 to 30 of LoOp's supplement against central differences of the loss of equation 26."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.loop.theory import cases as arc_cases
from papers.loop.theory import pair_steps
from papers.loop.theory.pair_steps import Form
from papers.loop.theory.random_arcs import Arcs, uniform, unit

STEP = 1e-5


class Agreement(NamedTuple):
    """Directional derivatives by a formula against central differences of a loss."""

    formula: Form
    loss: Form
    largest: float  # the largest error over the largest derivative
    median: float  # the median of |formula - difference| / |difference|


def compare(dimension: int, n: int = 2000, seed: int = 0) -> list[Agreement]:
    """The plain and the printed gradients (`squared`), each against the loss with plain and with squared distances.

    The ends move along random directions of the sphere. Pairs of arcs nearer than 0.05, and those whose case changes
    within the step, are left out: there the distance has no slope or a kink.
    """
    rng = np.random.default_rng(seed)
    arcs = uniform(rng, n, dimension)
    ways = Arcs(*(_along_sphere(end, rng.standard_normal(end.shape)) for end in arcs))
    ahead, behind = (_moved(arcs, ways, sign * STEP) for sign in (1, -1))
    cases = [arc_cases.least(arc_cases.box_of(a)) for a in (behind, arcs, ahead)]
    smooth = (cases[0].case == cases[1].case) & (cases[1].case == cases[2].case) & (cases[1].distance > 0.05)
    agreements = []
    for formula in ("squared", "plain"):
        slopes = pair_steps.gradients(arcs, pair_steps.closest(arcs), formula)
        ours = sum((slope * way).sum(1) for slope, way in zip(slopes, ways, strict=True))[smooth]
        for loss in ("squared", "plain"):
            difference = ((loss_of(ahead, loss) - loss_of(behind, loss)) / (2 * STEP))[smooth]
            error, scale = np.abs(ours - difference), np.abs(difference)
            largest, typical = float((error / scale.max()).max()), float(np.median(error / scale))
            agreements.append(Agreement(formula, loss, largest, typical))
    return agreements


def loss_of(arcs: Arcs, form: Form) -> np.ndarray:
    """d(x1, x2) - d(p1, p2) at the closest points, or the same with squared distances: (n,)."""
    positive = np.linalg.norm(arcs.x1 - arcs.x2, axis=1)
    negative = arc_cases.least(arc_cases.box_of(arcs)).distance
    return positive - negative if form == "plain" else positive**2 - negative**2


def _along_sphere(end: np.ndarray, way: np.ndarray) -> np.ndarray:
    return way - (way * end).sum(1, keepdims=True) * end


def _moved(arcs: Arcs, ways: Arcs, size: float) -> Arcs:
    return Arcs(*(unit(end + size * way) for end, way in zip(arcs, ways, strict=True)))
