"""The nine cases of LoOp without normalisation: the least distance between two segments (section 4.2, supplement 4.2).

    p1 = (1 - k1) x1 + k1 x2,  p2 = (1 - k2) y1 + k2 y2,  u = x1 - x2,  v = y1 - y2,  w = x1 - y1,  0 <= k1, k2 <= 1
    case 0     k1 = (u.v v.w - |v|^2 u.w) / ((u.v)^2 - |u|^2 |v|^2),  k2 = (-u.v u.w + |u|^2 v.w) / (the same)
    1 and 2    k1 = 0 or 1, k2 = (k1 u.v - v.w) / |v|^2
    3 and 4    k2 = 0 or 1, k1 = (k2 u.v + u.w) / |u|^2
    5 to 8     the four pairs of ends

Equation 21 and the supplement's cases. A formula that is 0 / 0, for parallel segments or one of length 0, gives no
candidate: another case has the same minimum.
"""

from __future__ import annotations

import numpy as np

from papers.loop.theory import box_search
from papers.loop.theory.random_arcs import Arcs


def random(rng: np.random.Generator, n: int, dimension: int) -> Arcs:
    """Four independent normal points each."""
    return Arcs(*rng.standard_normal((4, n, dimension)))


def degenerate(rng: np.random.Generator, n: int, dimension: int) -> dict[str, Arcs]:
    """Parallel segments, and segments of length 0."""
    x1, x2, y1, y2 = random(rng, n, dimension)
    length = rng.uniform(-2, 2, (n, 1))
    return {
        "parallel": Arcs(x1, x2, y1, y1 + length * (x2 - x1)),
        "on one line": Arcs(x1, x2, x1 + 3 * (x2 - x1), x1 + (1 + length) * (x2 - x1)),
        "x1 = x2": Arcs(x1, x1, y1, y2),
        "x1 = x2 and y1 = y2": Arcs(x1, x1, y1, y1),
        "nearly parallel": Arcs(x1, x2, y1, y1 + length * (x2 - x1) + 1e-7 * y2),
        "nearly a point": Arcs(x1, x1 + 1e-9 * x2, y1, y2),
    }


def nine_cases(ends: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """The least distance (n,) over the candidates within the square, and its case, int64 (n,)."""
    u, v, w = ends.x1 - ends.x2, ends.y1 - ends.y2, ends.x1 - ends.y1
    uu, vv, uv, uw, vw = ((p * q).sum(1) for p, q in ((u, u), (v, v), (u, v), (u, w), (v, w)))
    zero, one = np.zeros_like(uu), np.ones_like(uu)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = uv**2 - uu * vv
        places = [
            *((5, zero, zero), (6, zero, one), (7, one, zero), (8, one, one)),
            *((1, zero, -vw / vv), (2, one, (uv - vw) / vv), (3, uw / uu, zero), (4, (uv + uw) / uu, one)),
            (0, (uv * vw - vv * uw) / determinant, (-uv * uw + uu * vw) / determinant),
        ]
    best, which = np.full_like(uu, np.inf), np.zeros(len(uu), dtype=np.int64)
    for case, k1, k2 in places:
        inside = (k1 >= 0) & (k1 <= 1) & (k2 >= 0) & (k2 <= 1)
        k1, k2 = (np.where(inside, k, 0.0)[:, None] for k in (k1, k2))
        distance = np.where(inside, np.linalg.norm(w - k1 * u + k2 * v, axis=1), np.inf)
        which, best = np.where(distance < best, case, which), np.minimum(best, distance)
    return best, which


def searched(ends: Arcs) -> np.ndarray:
    """The least distance (n,) by a search over both lengths, without a formula for k1 and k2."""
    u, v, w = ends.x1 - ends.x2, ends.y1 - ends.y2, ends.x1 - ends.y1
    lengths = [np.linalg.norm(z, axis=1) for z in (u, v)]
    u, v = (z / np.where(length > 0, length, 1.0)[:, None] for z, length in zip((u, v), lengths, strict=True))
    uv, uw, vw, ww = ((p * q).sum(1)[:, None] for p, q in ((u, v), (u, w), (v, w), (w, w)))

    def squared(s: np.ndarray, t: np.ndarray) -> np.ndarray:
        return ww + s * s + t * t - 2 * s * uw + 2 * t * vw - 2 * s * t * uv

    return np.sqrt(np.maximum(box_search.minimum(squared, *lengths), 0))
