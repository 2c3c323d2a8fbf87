"""LoOp's loss [d(x1, x2) - d(p1, p2) + m]_+: its gradients, and one step along them (supplement, section 5).

p1 = (u1 x1 + u2 x2) / |u1 x1 + u2 x2| and p2 = (w1 y1 + w2 y2) / |w1 y1 + w2 y2| are points of the arcs. With weights
that are held constant, the gradient of `d(p1, p2)^2` by x_i is `2 u_i / |..| ((p1.p2) p1 - p2)`. At the closest points
this is exact, because the weights have no first-order effect (the envelope theorem).

The supplement compares nine choices of (p1, p2): an end or the midpoint of each arc. It prints gradients (equations 27
to 30) that are those of squared distances, although the loss of equation 26 has plain ones.

At the closest points of the arcs the criteria hold to first order, whichever the form: the KKT conditions say that an
end which is the closest point is pushed towards the other end of its arc, or at a right angle to the arc, and points
within an arc are pushed at a right angle to it. For a step of finite size, y1 and y2 may separate by its square.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from papers.loop.theory import cases as arc_cases
from papers.loop.theory.random_arcs import Arcs, unit
from papers.loop.theory.search import weights

Form = Literal["plain", "squared"]
TOUCHING = 1e-7  # a plain distance below this has no slope, and its gradient is 0
ZERO = 1e-9  # a rate up to this is 0
ENDS = {"1": (1.0, 0.0), "mid": (1.0, 1.0), "2": (0.0, 1.0)}
CHOICES = {0: ("mid", "mid"), 1: ("1", "mid"), 2: ("2", "mid"), 3: ("mid", "1"), 4: ("mid", "2")} | {
    5: ("1", "1"),
    6: ("1", "2"),
    7: ("2", "1"),
    8: ("2", "2"),
}
"""The nine choices: where p1 is on x1 -> x2, and p2 on y1 -> y2."""


class Points(NamedTuple):
    """A point of each arc, by the weights of the ends (n,): divided by nothing yet."""

    u1: np.ndarray
    u2: np.ndarray
    w1: np.ndarray
    w2: np.ndarray


def choice(case: int, n: int) -> Points:
    """The points of one of the nine choices, for n pairs of arcs."""
    first, second = CHOICES[case]
    return Points(*(np.full(n, weight) for weight in (*ENDS[first], *ENDS[second])))


def closest(arcs: Arcs) -> Points:
    """LoOp's points: the closest ones of each pair of arcs."""
    box = arc_cases.box_of(arcs)
    best = arc_cases.least(box)
    return Points(*weights(best.alpha, box.alpha0), *weights(best.beta, box.beta0))


def distance(arcs: Arcs, points: Points) -> np.ndarray:
    """d(p1, p2), (n,)."""
    p1, p2, _, _ = _placed(arcs, points)
    return np.linalg.norm(p1 - p2, axis=1)


def gradients(arcs: Arcs, points: Points, form: Form) -> Arcs:
    """The gradients of the loss, where it is positive, by the four ends: (n, d) each.

    Parameters
    ----------
    form : `plain`, of `d(x1, x2) - d(p1, p2)`; `squared`, with both distances squared, as equations 27 to 30 have it.
    """
    p1, p2, length1, length2 = _placed(arcs, points)
    between = arcs.x1 - arcs.x2
    pull, push = 2.0, np.full((len(between), 1), 2.0)
    if form == "plain":
        pull = 1 / np.linalg.norm(between, axis=1, keepdims=True)
        apart = np.linalg.norm(p1 - p2, axis=1, keepdims=True)
        push = np.divide(1.0, apart, out=np.zeros_like(apart), where=apart > TOUCHING)
    cosine = (p1 * p2).sum(1, keepdims=True)
    of_first, of_second = push * (cosine * p1 - p2) / length1, push * (cosine * p2 - p1) / length2
    u1, u2, w1, w2 = (w[:, None] for w in points)
    return Arcs(pull * between - u1 * of_first, -pull * between - u2 * of_first, -w1 * of_second, -w2 * of_second)


def step(arcs: Arcs, points: Points, form: Form, size: float) -> Arcs:
    """The ends after one gradient step of this size, on the sphere again."""
    return Arcs(*(unit(end - size * slope) for end, slope in zip(arcs, gradients(arcs, points, form), strict=True)))


class Rates(NamedTuple):
    """How fast distances change along the gradient, to first order in the size of the step: float64 (n,) each."""

    together: np.ndarray  # of x1 and x2
    kept: np.ndarray  # of y1 and y2
    apart: np.ndarray  # of the two arcs

    @property
    def good(self) -> np.ndarray:
        """The supplement's criteria: x1 and x2 approach, y1 and y2 are not driven apart, the arcs separate. bool."""
        return (self.together < 0) & (self.kept <= ZERO) & (self.apart > 0)


def rates(arcs: Arcs, points: Points, form: Form) -> Rates:
    """The rates for steps along the sphere. Arcs that touch have no gradient and must not be among them."""
    slopes = gradients(arcs, points, form)
    ways = Arcs(*(-(g - (g * end).sum(1, keepdims=True) * end) for g, end in zip(slopes, arcs, strict=True)))
    x, y = unit(arcs.x1 - arcs.x2), unit(arcs.y1 - arcs.y2)
    plain = gradients(arcs, closest(arcs), "plain")  # less the pull of x1 and x2, the gradient of -(arcs' distance)
    push = (plain.x1 - x, plain.x2 + x, plain.y1, plain.y2)
    return Rates(
        (x * (ways.x1 - ways.x2)).sum(1),
        (y * (ways.y1 - ways.y2)).sum(1),
        -sum((slope * way).sum(1) for slope, way in zip(push, ways, strict=True)),
    )


def _placed(arcs: Arcs, points: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """p1, p2 (n, d), and the lengths (n, 1) by which the combinations of the ends were divided."""
    u1, u2, w1, w2 = (w[:, None] for w in points)
    first, second = u1 * arcs.x1 + u2 * arcs.x2, w1 * arcs.y1 + w2 * arcs.y2
    lengths = [np.linalg.norm(z, axis=1, keepdims=True) for z in (first, second)]
    return first / lengths[0], second / lengths[1], lengths[0], lengths[1]
