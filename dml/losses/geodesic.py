"""The least distance between two geodesics of the unit sphere (LoOp), or between two segments of flat space.

    p1(alpha) = x1 cos(alpha) + n2 sin(alpha),   0 <= alpha <= alpha0 = angle(x1, x2),   n2 = Gram-Schmidt of x2 on x1
    p2(beta)  = y1 cos(beta)  + n4 sin(beta),    0 <= beta  <= beta0  = angle(y1, y2),   n4 = Gram-Schmidt of y2 on y1
    distance  = min sqrt(2 (1 - p1.p2))

Vasudeva et al., "LoOp: looking for optimal hard negative embeddings for deep metric learning", ICCV 2021, sections 3.1,
3.2 and 4.2, supplement 4. `p1.p2` is bilinear in (cos, sin), with the 2x2 matrix n_ij of inner products of the frames
(x1, n2) and (y1, n4).

Deviations from the paper, in form and not in value:
- Interior optimum (case 0): the leading singular pair of n, from the sum and the difference of its angles,
  `alpha + beta = atan2(n12 + n21, n11 - n22)` and `alpha - beta = atan2(n21 - n12, n11 + n22)`. The paper's quadratics
  divide by `ab + cd` and `ac + bd`, which may be 0, and combine alpha's + root with beta's - root. Both + roots belong
  to the leading pair, so they go together here. The other singular pair is never a minimum.
- No multipliers and no sentinel distance: candidates within the box are compared by value, and the corners are always
  within the box.
- Memory is O(P Q) scalars for P and Q pairs and any D: p1 and p2 are never materialised. The tangents n2 and n4 are,
  one per pair: `(x2.y - s x1.y) / sqrt(1 - s^2)` from the Gram matrix loses half the digits for nearly opposite ends.
- An arc whose ends are equal or opposite, within the square root of the working precision, has no direction: only its
  ends count. (The geodesic between opposite points is not unique.)

Gradient: `p1 = (u1 x1 + u2 x2) / |u1 x1 + u2 x2|` with (u1 : u2) in a fixed box. So by the envelope theorem
`d(p1.p2)/dx_i = u_i (p2 - (p1.p2) p1)` with constant u is exact, at the ends and within. The second term comes from the
norm. At distance 0 the gradient is 0.

The distance between linear combinations of two pairs of points, with the envelope theorem's gradient.

    p1 = u1 x1 + u2 x2,   p2 = w1 y1 + w2 y2,   d = |p1 - p2|

If the weights minimise d over a fixed set, they have no first-order effect on d: `d(d^2)/dx_i = 2 u_i (p1 - p2)`. If
p1 and p2 are divided by their norms, and the weights with them, `d(d^2)/dx_i = 2 u_i ((p1.p2) p1 - p2)`. Likewise in y.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def distance(ends: tuple[Tensor, ...], weights: tuple[Tensor, ...], squared: Tensor, pull: Tensor) -> Tensor:
    """`sqrt(squared)` (P, Q), differentiable in the ends x1, x2 (P, D), y1, y2 (Q, D); at distance 0 the gradient is 0.

    `weights` u1, u2, w1, w2 (P, Q), detached; `pull` p1.p2 if p1 and p2 were divided by their norms, else 1.
    """
    return _Distance.apply(*ends, *weights, pull, squared)


class _Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        *kept, squared = inputs
        result = squared.sqrt()
        ctx.save_for_backward(*kept, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x1, x2, y1, y2, u1, u2, w1, w2, pull, result = ctx.saved_tensors
        with torch.autocast(result.device.type, enabled=False):  # which may be on where the backward pass runs
            slope = gradients[0] * result.sign() / result.clamp(min=torch.finfo(result.dtype).tiny)
            pulled = slope * pull
            a1, a2 = slope * u1, slope * u2
            a11, a12, a21, a22 = a1 * w1, a1 * w2, a2 * w1, a2 * w2
            p1, p2, q1, q2 = pulled * u1, pulled * u2, pulled * w1, pulled * w2
            x11, x12, x22 = ((p * u).sum(1)[:, None] for p, u in ((p1, u1), (p1, u2), (p2, u2)))
            y11, y12, y22 = ((q * w).sum(0)[:, None] for q, w in ((q1, w1), (q1, w2), (q2, w2)))
            return (
                x11 * x1 + x12 * x2 - a11 @ y1 - a12 @ y2,
                x12 * x1 + x22 * x2 - a21 @ y1 - a22 @ y2,
                y11 * y1 + y12 * y2 - a11.T @ x1 - a21.T @ x2,
                y12 * y1 + y22 * y2 - a12.T @ x1 - a22.T @ x2,
                *[None] * 6,
            )


class Closest(NamedTuple):
    """The closest points between every x pair and every y pair."""

    distance: Tensor  # (P, Q), differentiable
    first: Tensor  # (P, Q), where on x1 -> x2: alpha in radians for arcs, k1 in [0, 1] for segments; detached
    second: Tensor  # (P, Q), where on y1 -> y2: beta or k2; detached
    case: Tensor  # int64 (P, Q), the KKT case: 0 interior; 1-4 x1, x2, y1, y2 and a foot; 5-8 x1y1, x1y2, x2y1, x2y2


def arcs(x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Closest:
    """The least distances between geodesics from x1 to x2, (P, D) unit vectors, and from y1 to y2, (Q, D)."""
    with torch.no_grad():
        n2, alpha0 = _frame(x1, x2)
        n4, beta0 = _frame(y1, y2)
        n11, n12, n21, n22 = x1 @ y1.T, x1 @ n4.T, n2 @ y1.T, n2 @ n4.T
        alpha0, beta0 = alpha0[:, None], beta0[None, :]
        cos_a, sin_a, cos_b, sin_b = alpha0.cos(), alpha0.sin(), beta0.cos(), beta0.sin()
        # The ends x2 and y2 in the frame of the other arc.
        e1, e2 = n11 * cos_a + n21 * sin_a, n12 * cos_a + n22 * sin_a
        f1, f2 = n11 * cos_b + n12 * sin_b, n21 * cos_b + n22 * sin_b

        def foot(along: Tensor, across: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            """The point of a great circle nearest to an end: its value, its angle, and whether it is on the arc."""
            on_arc = _above(across, 0) * _above(sin * along, cos * across)
            return torch.hypot(along, across), torch.atan2(across, along), on_arc

        def candidates() -> Iterable[tuple[int, Tensor, Tensor, Tensor, Tensor | float]]:
            """Each case's p1.p2, alpha, beta, and whether it lies within the box (1 or 0)."""
            zero = torch.zeros_like(n11)
            yield 6, f1, zero, beta0, 1
            yield 7, e1, alpha0, zero, 1
            yield 8, e1 * cos_b + e2 * sin_b, alpha0, beta0, 1
            for case, angle, along, across in ((1, zero, n11, n12), (2, alpha0, e1, e2)):
                value, beta, on_arc = foot(along, across, cos_b, sin_b)
                yield case, value, angle, beta, on_arc
            for case, angle, along, across in ((3, zero, n11, n21), (4, beta0, f1, f2)):
                value, alpha, on_arc = foot(along, across, cos_a, sin_a)
                yield case, value, alpha, angle, on_arc
            value, alpha, beta = _leading(n11, n12, n21, n22)
            inside = _above(alpha, 0) * _above(alpha0, alpha) * _above(beta, 0) * _above(beta0, beta)
            yield 0, value, alpha, beta, inside

        best, case = n11.clone(), torch.full_like(n11, 5)
        alpha, beta = torch.zeros_like(n11), torch.zeros_like(n11)
        for number, value, at_alpha, at_beta, within in candidates():
            better = _above(value, best) * within
            best.lerp_(value, better)
            case.addcmul_(better, number - case)
            alpha.lerp_(at_alpha.expand_as(alpha), better)
            beta.lerp_(at_beta.expand_as(beta), better)
        weights = (*_weights(alpha, alpha0), *_weights(beta, beta0))
        squared = (2 - 2 * best).clamp(min=0)
    return Closest(distance((x1, x2, y1, y2), weights, squared, pull=best), alpha, beta, case.long())


def segments(x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Closest:
    """The least distances between segments x1 to x2, (P, D), and y1 to y2, (Q, D): `p1 = (1 - k1) x1 + k1 x2`, ..."""
    with torch.no_grad():
        u, v = x2 - x1, y2 - y1
        a, e = u.square().sum(1)[:, None], v.square().sum(1)[None, :]
        b = u @ v.T
        c = (u * x1).sum(1)[:, None] - u @ y1.T
        f = x1 @ v.T - (v * y1).sum(1)[None, :]
        w = x1.square().sum(1)[:, None] + y1.square().sum(1)[None, :] - 2 * x1 @ y1.T

        # The problem is convex: an interior solution outside the box is, once clamped, worse than the best edge.
        tiny = torch.finfo(b.dtype).tiny
        per_a, per_e, per_determinant = (1 / t.clamp(min=tiny) for t in (a, e, a * e - b * b))
        zero, one = torch.zeros_like(b), torch.ones_like(b)
        squared, k1, k2 = torch.full_like(b, torch.finfo(b.dtype).max), zero, zero
        for j1, j2 in (
            (zero, f * per_e),
            (one, (f + b) * per_e),
            (-c * per_a, zero),
            ((b - c) * per_a, one),
            ((b * f - c * e) * per_determinant, (a * f - b * c) * per_determinant),
        ):
            j1, j2 = j1.clamp(0, 1), j2.clamp(0, 1)
            value = w + (a * j1 - 2 * b * j2 + 2 * c) * j1 + (e * j2 - 2 * f) * j2
            better = _above(squared, value)
            squared, k1, k2 = torch.minimum(squared, value), k1.lerp(j1, better), k2.lerp(j2, better)
        start1, end1, start2, end2 = k1.eq(0).to(b), k1.eq(1).to(b), k2.eq(0).to(b), k2.eq(1).to(b)
        within1, within2 = 1 - start1 - end1, 1 - start2 - end2
        case = (1 - within1) * (1 - within2) * (5 + 2 * end1 + end2)
        case += (1 - within1) * within2 * (1 + end1) + within1 * (1 - within2) * (3 + end2)
        weights = (1 - k1, k1, 1 - k2, k2)
    return Closest(distance((x1, x2, y1, y2), weights, squared.clamp(min=0), pull=one), k1, k2, case.long())


def _above(left: Tensor, right: Tensor | float) -> Tensor:
    """1 where left > right, else 0, as floats: on a CPU, blending with them takes a twentieth of `torch.where`."""
    return (left - right).gt_(0)


def _frame(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """The unit tangents at `start` towards `end` (P, D), 0 if undefined, and the angles (P,) in radians."""
    difference, total = end - start, end + start
    angle = 2 * torch.atan2(difference.norm(dim=1), total.norm(dim=1))
    # The smaller of difference and sum has the most digits. Twice, since the ends have unit length only up to rounding.
    tangent = torch.where((angle < torch.pi / 2)[:, None], difference, total)
    tangent = tangent - (tangent * start).sum(1, keepdim=True) * start
    tangent = tangent - (tangent * start).sum(1, keepdim=True) * start
    length = tangent.norm(dim=1, keepdim=True)
    exists = _has_direction(angle)[:, None] & (length > 0)
    return torch.where(exists, tangent / torch.where(exists, length, 1), 0), angle


def _has_direction(angle: Tensor) -> Tensor:
    """Whether an arc of this angle has a direction: its ends are neither equal nor opposite."""
    return angle.sin() > torch.finfo(angle.dtype).eps ** 0.5


def _leading(n11: Tensor, n12: Tensor, n21: Tensor, n22: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The greatest p1.p2 of two whole great circles, and its alpha in [0, pi] and beta in [-pi, pi]."""
    half_sum, half_difference = torch.atan2(n12 + n21, n11 - n22) / 2, torch.atan2(n21 - n12, n11 + n22) / 2
    alpha, beta = half_sum + half_difference, half_sum - half_difference
    # (alpha, beta) and (alpha + pi, beta +- pi) are the same optimum; the box contains at most one of them.
    negative = _above(-alpha, 0)
    beta = beta - negative * torch.copysign(torch.full_like(beta, torch.pi), beta)
    value = (torch.hypot(n11 - n22, n12 + n21) + torch.hypot(n11 + n22, n21 - n12)) / 2
    return value, alpha + negative * torch.pi, beta


def _weights(angle: Tensor, full: Tensor) -> tuple[Tensor, Tensor]:
    """(u1, u2) with `p = u1 start + u2 end` for a point at `angle` on an arc of angle `full`."""
    exists = _has_direction(full)
    sine = torch.where(exists, full.sin(), 1)
    exists, at_end = exists.to(angle), _above(angle, full / 2)
    u1, u2 = (full - angle).sin() / sine, angle.sin() / sine
    return torch.lerp(1 - at_end, u1, exists.expand_as(u1)), torch.lerp(at_end, u2, exists.expand_as(u2))
