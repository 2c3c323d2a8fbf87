"""Squared distances from inner products, and again in float64 where those cancel.

|x_i|^2 + |x_j|^2 - 2 x_i.x_j has an error of a few units in the last place of |x_i|^2 + |x_j|^2: the floor below which
nothing can be told from 0. On a CPU, pairs nearer than 256 floors are computed again in float64, and the others keep
their bits. Of float32 unit vectors these are distances below 0.016. A GPU would have to be waited for: there, squared
distances below the floor count as 0, which are distances below 1e-3 of such vectors.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.tensors import may_look

FLOOR = 4  # units in the last place of |x_i|^2 + |x_j|^2
NEAR = 256  # floors


@torch.no_grad()
def squared_distances(x: Tensor, unit: bool, anchors: int | None = None) -> Tensor:
    """|x_i - x_j|^2 of rows (N, D), detached: (A, N), exactly 0 on the diagonal and between equal rows.

    unit : all rows have the length 1, or are zero. anchors : A, the first rows, whose distances are wanted; None: all.
    """
    anchors = len(x) if anchors is None else anchors
    norms = x.square().sum(1)
    matrix = squared_between(x[:anchors], norms[:anchors], x, norms)
    again = _again(x, norms, matrix) if anchors and x.dtype != torch.float64 and may_look(x) else None
    floor = FLOOR * torch.finfo(matrix.dtype).eps
    if unit:
        torch.threshold_(matrix, 2 * floor, 0.0)
    else:
        above = matrix > (norms[:anchors, None] + norms).mul_(floor)
        matrix.clamp_(min=0).mul_(above)
    if again is not None:
        rows, near, exact = again
        matrix[rows] = torch.where(near, exact, matrix[rows])
    return matrix.fill_diagonal_(0)


def squared_between(x: Tensor, x_norms: Tensor, y: Tensor, y_norms: Tensor) -> Tensor:
    """|x_i - y_j|^2 of rows (N, D) and (M, D) with squared lengths (N,) and (M,): (N, M), not clamped."""
    with torch.autocast(x.device.type, enabled=False):
        return torch.addmm(x_norms[:, None].expand(-1, len(y)), x, y.T, alpha=-2).add_(y_norms)


def near_limit(dtype: torch.dtype) -> float:
    """The share of |x|^2 + |y|^2 below which |x - y|^2 is to be computed in float64."""
    return NEAR * FLOOR * torch.finfo(dtype).eps


def _again(x: Tensor, norms: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Rows with a near pair, int64 (R,), which of their pairs are near, and their squared distances: (R, N) both."""
    limit = near_limit(x.dtype)
    rows = (matrix.fill_diagonal_(torch.inf).amin(1) < (norms[: len(matrix)] + norms.max()) * limit).nonzero()[:, 0]
    if not len(rows):
        return None
    sums = norms[rows, None] + norms
    near = matrix[rows] < sums * limit
    double = x.double()
    squares = double.square().sum(1)
    exact = squared_between(double[rows], squares[rows], double, squares)
    exact.mul_(exact > sums * (2 * torch.finfo(x.dtype).eps) ** 2)  # rows that are equal but for their rounding
    return rows, near, exact.to(x.dtype)
