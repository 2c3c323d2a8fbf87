r"""The least distance between two geodesics of the unit sphere (LoOp), or between two segments of flat space.

    p1(alpha) = x1 cos(alpha) + n2 sin(alpha),   0 <= alpha <= alpha0 = angle(x1, x2),   n2 = Gram-Schmidt of x2 on x1
    p2(beta)  = y1 cos(beta)  + n4 sin(beta),    0 <= beta  <= beta0  = angle(y1, y2),   n4 = Gram-Schmidt of y2 on y1
    distance  = min sqrt(2 (1 - p1.p2))

Vasudeva et al., "LoOp: looking for optimal hard negative embeddings for deep metric learning", ICCV 2021, sections 3.1,
3.2 and 4.2, supplement 4. `p1.p2` is bilinear in (cos, sin), with the 2x2 matrix n_ij of inner products of the frames
(x1, n2) and (y1, n4).

Deviations from the paper, of form and not of value:
- Interior optimum (case 0): the leading singular pair of n, from the sum and the difference of its angles,
  `alpha + beta = atan2(n12 + n21, n11 - n22)` and `alpha - beta = atan2(n21 - n12, n11 + n22)`. The paper's quadratics
  divide by `ab + cd` and `ac + bd`, which may be 0, and leave open which alpha goes with which beta. The other singular
  pair is never a minimum.
- No multipliers and no sentinel distance: the candidates within the box are compared by their value, and the corners
  always are within it.
- Memory is O(P Q) scalars for P and Q pairs, whatever D: no p1 or p2 is materialised. The tangents n2 and n4 are, one a
  pair: `(x2.y - s x1.y) / sqrt(1 - s^2)` from the Gram matrix alone loses half of the digits for nearly opposite ends.
- Arcs whose ends are equal or opposite, within the square root of the working precision, have no direction: only their
  ends count. (Between opposite points there is no one geodesic.)

Gradient: `p1 = (u1 x1 + u2 x2) / |u1 x1 + u2 x2|` with (u1 : u2) in a box that depends on nothing, so by the envelope
theorem `d(p1.p2)/dx_i = u_i (p2 - (p1.p2) p1)` with u constant is exact, at the ends as within. Its second term is the
norm's and must stay. At distance 0 the gradient is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Closest(NamedTuple):
    """The closest points between every x pair and every y pair."""

    distance: Tensor  # (P, Q), differentiable
    first: Tensor  # (P, Q), where on x1 -> x2: alpha in radians for arcs, k1 in [0, 1] for segments; detached
    second: Tensor  # (P, Q), where on y1 -> y2: beta or k2; detached
    case: (
        Tensor  # int64 (P, Q), the KKT case: 0 interior; 1 x1, 2 x2, 3 y1, 4 y2 and a foot; 5-8 x1y1, x1y2, x2y1, x2y2
    )


def arcs(x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Closest:
    """The least distances between geodesics.

    Parameters
    ----------
    x1, x2 : (P, D) float32 or float64 unit vectors, the ends of P arcs.
    y1, y2 : (Q, D) likewise.
    """
    with torch.no_grad():
        n2, alpha0 = _frame(x1, x2)
        n4, beta0 = _frame(y1, y2)
        n11, n12, n21, n22 = x1 @ y1.T, x1 @ n4.T, n2 @ y1.T, n2 @ n4.T
        alpha0, beta0 = alpha0[:, None], beta0[None, :]
        cos_a, sin_a, cos_b, sin_b = alpha0.cos(), alpha0.sin(), beta0.cos(), beta0.sin()
        # The ends x2 and y2 in the frame of the other arc.
        e1, e2 = n11 * cos_a + n21 * sin_a, n12 * cos_a + n22 * sin_a
        f1, f2 = n11 * cos_b + n12 * sin_b, n21 * cos_b + n22 * sin_b

        best, case = n11, torch.full_like(n11, 5, dtype=torch.int64)
        for number, corner in ((6, f1), (7, e1), (8, e1 * cos_b + e2 * sin_b)):
            case = torch.where(corner > best, number, case)
            best = torch.maximum(best, corner)
        for number, along, across, cos, sin in (
            (1, n11, n12, cos_b, sin_b),
            (2, e1, e2, cos_b, sin_b),
            (3, n11, n21, cos_a, sin_a),
            (4, f1, f2, cos_a, sin_a),
        ):
            foot = torch.hypot(along, across)
            better = (across > 0) & (sin * along > cos * across) & (foot > best)
            case = torch.where(better, number, case)
            best = torch.where(better, foot, best)
        half_sum = torch.atan2(n12 + n21, n11 - n22) / 2
        half_difference = torch.atan2(n21 - n12, n11 + n22) / 2
        alpha, beta = half_sum + half_difference, half_sum - half_difference
        # (alpha, beta) and (alpha + pi, beta +- pi) are the same optimum; the box holds at most one of them.
        beta = torch.where(alpha < 0, beta - torch.copysign(torch.full_like(beta, torch.pi), beta), beta)
        alpha = torch.where(alpha < 0, alpha + torch.pi, alpha)
        top = (torch.hypot(n11 - n22, n12 + n21) + torch.hypot(n11 + n22, n21 - n12)) / 2
        better = (alpha > 0) & (alpha < alpha0) & (beta > 0) & (beta < beta0) & (top > best)
        case = torch.where(better, 0, case)
        best = torch.where(better, top, best)

        alpha = _angle(case, alpha, alpha0, at_start=(1, 5, 6), at_end=(2, 7, 8), feet=((3, n11, n21), (4, f1, f2)))
        beta = _angle(case, beta, beta0, at_start=(3, 5, 7), at_end=(4, 6, 8), feet=((1, n11, n12), (2, e1, e2)))
        u1, u2 = _weights(alpha, alpha0)
        w1, w2 = _weights(beta, beta0)
        squared = (2 - 2 * best).clamp(min=0)
    return Closest(_Distance.apply(x1, x2, y1, y2, u1, u2, w1, w2, best, squared), alpha, beta, case)


def segments(x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Closest:
    """The least distances between segments, `p1 = (1 - k1) x1 + k1 x2`, `p2 = (1 - k2) y1 + k2 y2` (section 4.2).

    Parameters
    ----------
    x1, x2 : (P, D) float32 or float64, the ends of P segments.
    y1, y2 : (Q, D) likewise.
    """
    with torch.no_grad():
        u, v = x2 - x1, y2 - y1
        a, e = u.square().sum(1)[:, None], v.square().sum(1)[None, :]
        b = u @ v.T
        c = (u * x1).sum(1)[:, None] - u @ y1.T
        f = x1 @ v.T - (v * y1).sum(1)[None, :]
        w = x1.square().sum(1)[:, None] + y1.square().sum(1)[None, :] - 2 * x1 @ y1.T

        # The problem is convex: where the interior solution leaves the box, an edge's clamped solution is the minimum.
        zero, one = torch.zeros_like(b), torch.ones_like(b)
        k1, k2 = zero, _ratio(f, e).clamp(0, 1)
        squared = w + (e * k2 - 2 * f) * k2
        determinant = a * e - b * b
        i1, i2 = _ratio(b * f - c * e, determinant), _ratio(a * f - b * c, determinant)
        inside = (determinant > 0) & (i1 > 0) & (i1 < 1) & (i2 > 0) & (i2 < 1)
        for j1, j2, allowed in (
            (one, _ratio(f + b, e).clamp(0, 1), None),
            (_ratio(-c, a).clamp(0, 1), zero, None),
            (_ratio(b - c, a).clamp(0, 1), one, None),
            (i1, i2, inside),
        ):
            value = w + a * j1 * j1 + e * j2 * j2 - 2 * b * j1 * j2 + 2 * c * j1 - 2 * f * j2
            better = value < squared if allowed is None else (value < squared) & allowed
            squared = torch.where(better, value, squared)
            k1, k2 = torch.where(better, j1, k1), torch.where(better, j2, k2)
        within1, within2, end1, end2 = (k1 > 0) & (k1 < 1), (k2 > 0) & (k2 < 1), (k1 == 1).long(), (k2 == 1).long()
        on_end1 = torch.where(within2, 1 + end1, 5 + 2 * end1 + end2)
        case = torch.where(within1, torch.where(within2, 0, 3 + end2), on_end1)
        squared = squared.clamp(min=0)
    return Closest(_Distance.apply(x1, x2, y1, y2, 1 - k1, k1, 1 - k2, k2, one, squared), k1, k2, case)


def safe_sqrt(squared: Tensor) -> Tensor:
    """The square root, with slope 0 in place of infinity at 0 and below."""
    positive = squared > 0
    return torch.where(positive, torch.where(positive, squared, 1).sqrt(), 0)


class _Distance(torch.autograd.Function):
    """`sqrt(squared)`, with the gradient of the distance between two combinations of constant weights.

    With `p1 = u1 x1 + u2 x2` and `p2 = w1 y1 + w2 y2`, the slope of the squared distance is `2 u_i (r p1 - p2)` in x_i
    and `2 w_j (r p2 - p1)` in y_j: r = p1.p2 where p1 and p2 are kept on the sphere, 1 where they are not.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x1: Tensor,
        x2: Tensor,
        y1: Tensor,
        y2: Tensor,
        u1: Tensor,
        u2: Tensor,
        w1: Tensor,
        w2: Tensor,
        r: Tensor,
        squared: Tensor,
    ) -> Tensor:
        distance = squared.sqrt()
        ctx.save_for_backward(x1, x2, y1, y2, u1, u2, w1, w2, r, distance)
        return distance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x1, x2, y1, y2, u1, u2, w1, w2, r, distance = ctx.saved_tensors
        slope = gradients[0] / torch.where(distance > 0, distance, torch.inf)
        a1, a2 = slope * u1, slope * u2
        a11, a12, a21, a22 = a1 * w1, a1 * w2, a2 * w1, a2 * w2
        ru1, ru2, rw2 = r * u1, r * u2, r * w2
        x11, x12, x22 = ((a1 * ru1).sum(1), (a1 * ru2).sum(1), (a2 * ru2).sum(1))
        slope_w1 = slope * w1
        y11, y12, y22 = ((slope_w1 * r * w1).sum(0), (slope_w1 * rw2).sum(0), (slope * w2 * rw2).sum(0))
        return (
            x11[:, None] * x1 + x12[:, None] * x2 - a11 @ y1 - a12 @ y2,
            x12[:, None] * x1 + x22[:, None] * x2 - a21 @ y1 - a22 @ y2,
            y11[:, None] * y1 + y12[:, None] * y2 - a11.T @ x1 - a21.T @ x2,
            y12[:, None] * y1 + y22[:, None] * y2 - a12.T @ x1 - a22.T @ x2,
            *[None] * 6,
        )


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient, 0 where the denominator is not positive."""
    positive = denominator > 0
    return torch.where(positive, numerator / torch.where(positive, denominator, 1), 0)


def _frame(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The unit tangents at `start` towards `end` (P, D), 0 where there is none, and the angles (P,) in radians."""
    difference, total = end - start, end + start
    angle = 2 * torch.atan2(difference.norm(dim=1), total.norm(dim=1))
    # From the smaller of difference and sum, which has its digits; twice, as the ends are units only to rounding.
    tangent = torch.where((angle < torch.pi / 2)[:, None], difference, total)
    tangent = tangent - (tangent * start).sum(1, keepdim=True) * start
    tangent = tangent - (tangent * start).sum(1, keepdim=True) * start
    length = tangent.norm(dim=1, keepdim=True)
    exists = (angle.sin() > torch.finfo(start.dtype).eps ** 0.5)[:, None] & (length > 0)
    return torch.where(exists, tangent / torch.where(exists, length, 1), 0), angle


def _angle(case: Tensor, interior: Tensor, full: Tensor, at_start: tuple, at_end: tuple, feet: tuple) -> Tensor:
    """The angle of one side's optimum, by the case (P, Q)."""
    (first, along1, across1), (second, along2, across2) = feet
    along, across = torch.where(case == first, along1, along2), torch.where(case == first, across1, across2)
    angle = torch.where((case == first) | (case == second), torch.atan2(across, along), interior)
    angle = torch.where((case == at_start[0]) | (case == at_start[1]) | (case == at_start[2]), 0, angle)
    return torch.where((case == at_end[0]) | (case == at_end[1]) | (case == at_end[2]), full, angle)


def _weights(angle: Tensor, full: Tensor) -> tuple[Tensor, Tensor]:
    """(u1, u2) with `p = u1 start + u2 end` for a point at `angle` on an arc of angle `full`."""
    sine = full.sin()
    exists = sine > torch.finfo(full.dtype).eps ** 0.5
    sine = torch.where(exists, sine, 1)
    at_end = (angle > full / 2).to(full.dtype)
    return torch.where(exists, (full - angle).sin() / sine, 1 - at_end), torch.where(exists, angle.sin() / sine, at_end)
