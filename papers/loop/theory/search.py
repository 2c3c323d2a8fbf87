"""The least distance between two arcs without LoOp's formulas: spherical interpolation and a search over both arcs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.loop.theory import box_search
from papers.loop.theory.cases import CASES, angle, box_of
from papers.loop.theory.cases import least as nine_cases
from papers.loop.theory.random_arcs import Arcs


def least(arcs: Arcs) -> np.ndarray:
    """The least f = -p1.p2 (n,), from the inner products of the ends; needs no frame and no case."""
    alpha0, beta0 = angle(arcs.x1, arcs.x2), angle(arcs.y1, arcs.y2)
    g11, g12, g21, g22 = ((x * y).sum(1)[:, None] for x in (arcs.x1, arcs.x2) for y in (arcs.y1, arcs.y2))

    def value(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        (u1, u2), (w1, w2) = weights(alpha, alpha0[:, None]), weights(beta, beta0[:, None])
        return -(u1 * (w1 * g11 + w2 * g12) + u2 * (w1 * g21 + w2 * g22))

    return box_search.minimum(value, alpha0, beta0)


def weights(angles: np.ndarray, full: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(u1, u2) with `p = u1 start + u2 end` at an angle along an arc of angle `full`; (1, 0) if that is 0."""
    sine = np.sin(full)
    curved = sine > 0
    safe = np.where(curved, sine, 1.0)
    return np.where(curved, np.sin(full - angles) / safe, 1.0), np.where(curved, np.sin(angles) / safe, 0.0)


class Agreement(NamedTuple):
    """LoOp's nine cases against the search, over many pairs of arcs."""

    pairs: int
    hits: np.ndarray  # int64 (9,), how often each case has the minimum
    above: float  # the largest f of the cases less that of the search: positive if the cases miss a better point
    below: float  # the largest f of the search less that of the cases
    attained: float  # the largest |f - f of the points at the cases' angles|, from the ends themselves


def compare(arcs: Arcs) -> Agreement:
    """Whether the nine cases contain the least distance. All differences are of f, half a squared distance."""
    box = box_of(arcs)
    best, searched = nine_cases(box), least(arcs)
    (u1, u2), (w1, w2) = weights(best.alpha, box.alpha0), weights(best.beta, box.beta0)
    p1 = u1[:, None] * arcs.x1 + u2[:, None] * arcs.x2
    p2 = w1[:, None] * arcs.y1 + w2[:, None] * arcs.y2
    difference = best.value - searched
    return Agreement(
        len(searched),
        np.bincount(best.case, minlength=CASES),
        float(difference.max()),
        float(-difference.min()),
        float(np.abs(best.value + (p1 * p2).sum(1)).max()),
    )
