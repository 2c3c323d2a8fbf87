"""LoOp's nine cases: the candidates for the least distance between two arcs (Vasudeva et al., sections 3.1 and 3.2).

    p1 = x1 cos(alpha) + n2 sin(alpha)      0 <= alpha <= alpha0 = angle(x1, x2), n2 = Gram-Schmidt of x2 on x1
    p2 = y1 cos(beta)  + n4 sin(beta)       0 <= beta  <= beta0  = angle(y1, y2), n4 = Gram-Schmidt of y2 on y1
    f  = -p1.p2 = a sin sin + b cos sin + c sin cos + d cos cos      (first factor of alpha, second of beta)
    a = -n2.n4,  b = -x1.n4,  c = -n2.y1,  d = -x1.y1,  distance = sqrt(2 (1 + f))

Case 0 is interior, in cases 1 to 4 one end is fixed, cases 5 to 8 are the corners (table 1). Candidates within the box
are compared by value, so that no multiplier is needed: a saddle or a maximum loses. The interior solutions are the two
singular pairs of [[d, b], [c, a]], taken from its decomposition; `tangents` has the paper's quadratics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from papers.loop.theory.random_arcs import Arcs

CASES = 9


class Box(NamedTuple):
    """The objective's coefficients and the box of the two angles, each float64 (n,)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    alpha0: np.ndarray
    beta0: np.ndarray

    def value(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The objective f = -p1.p2 at angles (n,)."""
        across = self.a * np.sin(alpha) + self.b * np.cos(alpha)
        along = self.c * np.sin(alpha) + self.d * np.cos(alpha)
        return across * np.sin(beta) + along * np.cos(beta)

    def gradient(self, alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives of f by alpha and by beta."""
        quarter = np.pi / 2
        return self.value(alpha + quarter, beta), self.value(alpha, beta + quarter)


class Least(NamedTuple):
    """The least of f over each box, each (n,)."""

    value: np.ndarray
    case: np.ndarray  # int64, 0 to 8
    alpha: np.ndarray
    beta: np.ndarray

    @property
    def distance(self) -> np.ndarray:
        """sqrt(2 (1 + f))."""
        return np.sqrt(np.maximum(2 + 2 * self.value, 0))


def box_of(arcs: Arcs) -> Box:
    """The coefficients of n pairs of arcs. An arc whose ends are equal has no tangent, and its angle is 0."""
    (n2, alpha0), (n4, beta0) = _frame(arcs.x1, arcs.x2), _frame(arcs.y1, arcs.y2)
    a, b, c, d = (-(u * v).sum(1) for u, v in ((n2, n4), (arcs.x1, n4), (n2, arcs.y1), (arcs.x1, arcs.y1)))
    return Box(a, b, c, d, alpha0, beta0)


def angle(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The angles (n,) between unit vectors, exact to rounding for equal and opposite ones too."""
    return 2 * np.arctan2(np.linalg.norm(end - start, axis=1), np.linalg.norm(end + start, axis=1))


def _frame(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tangent = end - start
    for _ in range(2):  # the second time removes the rounding errors of the first
        tangent = tangent - (tangent * start).sum(1, keepdims=True) * start
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    return np.divide(tangent, length, out=np.zeros_like(tangent), where=length > 0), angle(start, end)


def least(box: Box) -> Least:
    """The best candidate within each box."""
    best = Least(np.full_like(box.a, np.inf), np.zeros(len(box.a), dtype=np.int64), box.a * 0, box.a * 0)
    for case, alpha, beta in candidates(box):
        inside = (alpha >= 0) & (alpha <= box.alpha0) & (beta >= 0) & (beta <= box.beta0)
        value = np.where(inside, box.value(alpha, beta), np.inf)
        better = value < best.value
        best = Least(
            np.where(better, value, best.value),
            np.where(better, case, best.case),
            np.where(better, alpha, best.alpha),
            np.where(better, beta, best.beta),
        )
    return best


def candidates(box: Box) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(case, alpha, beta) of every candidate, corners first; nan where a formula is 0 / 0."""
    a, b, c, d, alpha0, beta0 = box
    zero = np.zeros_like(a)
    for case, alpha, beta in ((5, zero, zero), (6, zero, beta0), (7, alpha0, zero), (8, alpha0, beta0)):
        yield case, alpha, beta
    for case, alpha in ((1, zero), (2, alpha0)):
        sin, cos = np.sin(alpha), np.cos(alpha)
        yield case, alpha, turned(a * sin + b * cos, c * sin + d * cos)
    for case, beta in ((3, zero), (4, beta0)):
        sin, cos = np.sin(beta), np.cos(beta)
        yield case, turned(a * sin + c * cos, b * sin + d * cos), beta
    left, _, right = np.linalg.svd(np.stack([d, b, c, a], axis=-1).reshape(-1, 2, 2))
    for k in (0, 1):
        yield 0, turned(left[:, 1, k], left[:, 0, k]), turned(right[:, k, 1], right[:, k, 0])


def turned(numerator: np.ndarray, denominator: np.ndarray | float) -> np.ndarray:
    """arctan(over / under), moved by pi where it is negative: in [0, pi)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        angles = np.arctan(numerator / denominator)
    return np.where(angles < 0, angles + np.pi, angles)


def tangents(box: Box) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The two roots (+, -) of the paper's quadratics for tan(alpha), and those for tan(beta), each (n,)."""
    a, b, c, d = box[:4]
    roots = []
    for linear, product in ((a**2 - b**2 + c**2 - d**2, a * b + c * d), (a**2 + b**2 - c**2 - d**2, a * c + b * d)):
        root = np.sqrt(linear**2 + 4 * product**2)
        roots.append(((linear + root) / (2 * product), (linear - root) / (2 * product)))
    return roots[0], roots[1]
