"""The distance between linear combinations of two pairs of points, with the envelope theorem's gradient.

    p1 = u1 x1 + u2 x2,   p2 = w1 y1 + w2 y2,   d = |p1 - p2|

If the weights minimise d over a fixed set, they have no first-order effect on d: `d(d^2)/dx_i = 2 u_i (p1 - p2)`. If
p1 and p2 are divided by their norms, and the weights with them, `d(d^2)/dx_i = 2 u_i ((p1.p2) p1 - p2)`. Likewise in y.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def distance(ends: tuple[Tensor, ...], weights: tuple[Tensor, ...], squared: Tensor, pull: Tensor) -> Tensor:
    """`sqrt(squared)`, differentiable in the ends. The gradient of a distance of 0 is 0.

    Parameters
    ----------
    ends : x1, x2 (P, D) and y1, y2 (Q, D).
    weights : u1, u2, w1, w2, each (P, Q), detached.
    squared : (P, Q), the squared distances, detached.
    pull : (P, Q), p1.p2 if p1 and p2 were divided by their norms, else 1.
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
