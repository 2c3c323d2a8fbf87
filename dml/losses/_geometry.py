"""Distances and similarities of a batch, and a loss's gradient back to its embeddings.

Most losses here are functions of one N x N matrix: similarities `s_ij = x_i . x_j`, squared distances
`D_ij = |x_i - x_j|^2` or distances `d_ij`. Such a loss computes its value and its derivative with respect to that
matrix in the forward pass, without a graph. `Geometry.finish` then takes the derivative back to the embeddings:

    D: dL/dx_i = 2 sum_j (V_ij + V_ji) (x_i - x_j),  V = dL/dD         s: dL/dx_i = sum_j (W_ij + W_ji) x_j,  W = dL/ds

Autograd keeps one (N, D) array and no N x N matrix; second derivatives are not supported. Everything is in float32 at
least. |x_i|^2 + |x_j|^2 - 2 x_i.x_j has an error of a few units in the last place of |x_i|^2 + |x_j|^2, the floor: on a
CPU, pairs nearer than 256 floors are computed again in float64; on a GPU, distances below the floor count as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dml.losses._forms import full_precision, offset, unless_finite
from dml.tensors import may_look, unit_rows

FLOOR = 4  # units in the last place of |x_i|^2 + |x_j|^2
NEAR = 256  # floors


@torch.no_grad()
def squared_distances(x: Tensor, unit: bool, anchors: int | None = None) -> Tensor:
    """|x_i - x_j|^2 of rows (N, D), the first A as anchors, detached: (A, N), exactly 0 between equal rows."""
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


class _Attach(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, *inputs_and_gradients: Tensor) -> Tensor:
        count = len(inputs_and_gradients) // 2
        ctx.dtypes = [tensor.dtype for tensor in inputs_and_gradients[:count]]
        ctx.save_for_backward(*inputs_and_gradients[count:])
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        # Scale in full precision, then cast: a gradient scaler's 65536 is infinite in float16.
        gradients = [(upstream * g).to(dtype) for g, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)]
        return (None, *gradients, *(None for _ in gradients))


def attach(value: Tensor, *terms: tuple[Tensor, Tensor]) -> Tensor:
    """The scalar `value` with known derivatives: terms are (input, derivative of `value` with respect to it)."""
    return _Attach.apply(value, *(i for i, _ in terms), *(g for _, g in terms))


PullBack = Callable[[Tensor], Tensor]
"""Takes the derivative with respect to a tensor back to the tensor that it was computed from."""


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, origin: Tensor, value: Tensor, pull_back: PullBack) -> Tensor:
        ctx.pull_back = pull_back
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Any:
        return ctx.pull_back(upstream), None, None


def through(origin: Tensor, value: Tensor, pull_back: PullBack) -> Tensor:
    """`value`, computed from `origin` without a graph, as a tensor that autograd takes back by `pull_back`."""
    return _Through.apply(origin, value, pull_back)


class Geometry:
    """The pair matrix of one batch, without a graph, and the way back to the embeddings.

    `matrix` (N, N + M) of `measure` between embeddings (N, D) and themselves, then constants `others` (M, D). Distances
    are exactly 0 for rows that are equal up to rounding. A loss may overwrite it.
    """

    def __init__(self, embeddings: Tensor, measure: str, normalize: bool, others: Tensor | None = None):
        self._embeddings, self._similar, count = embeddings, measure == "similarity", len(embeddings)
        x = full_precision(embeddings.detach())
        if others is not None:
            x = torch.cat((x, others.to(x.dtype)))
        self._inverse_length: Tensor | None = None
        if normalize:
            x, inverse_length = unit_rows(x)
            self._inverse_length = inverse_length[:count]
        elif not self._similar:
            x = x - offset(x)
        self._x = x
        self._inverse: Tensor | None = None  # 1 / d
        with torch.autocast(x.device.type, enabled=False):
            self.matrix = x[:count] @ x.T if self._similar else squared_distances(x, normalize, count)
        if measure == "euclidean":
            squared, self.matrix = self.matrix, self.matrix.sqrt()
            self._inverse = torch.div(self.matrix, squared.add_(1e-30), out=squared)

    def finish(
        self, value: Tensor, derivative: Tensor, *parameters: tuple[Tensor, Tensor], divisor: Tensor | float = 1.0
    ) -> Tensor:
        """The scalar `value`, attached to the embeddings and to parameters; NaN if an embedding is not finite.

        `derivative` (N, N + M) is `divisor` times that of `value` with respect to `matrix`, and is overwritten.
        """
        value = value + unless_finite(self._x)
        terms = [term for term in parameters if term[0].requires_grad and torch.is_grad_enabled()]
        if self._embeddings.requires_grad and torch.is_grad_enabled():
            if self._inverse is not None:
                derivative, divisor = derivative.mul_(self._inverse), 2 * divisor  # dd/dD = 1 / (2 d)
            gradient = _back(derivative, self._x, self._inverse_length, self._similar)
            terms.append((self._embeddings, gradient.div_(divisor)))
        return attach(value, *terms) if terms else value

    def attached(self) -> Tensor:
        """`matrix` (N, N), differentiable by autograd."""
        x, inverse_length, inverse, similar = self._x, self._inverse_length, self._inverse, self._similar

        def back(derivative: Tensor) -> Tensor:
            if inverse is not None:
                derivative = derivative * inverse / 2
            return _back(derivative, x, inverse_length, similar)

        return through(full_precision(self._embeddings), self.matrix, back)


def _back(derivative: Tensor, x: Tensor, inverse_length: Tensor | None, similar: bool) -> Tensor:
    """From the derivative (N, N + M) of similarities or squared distances of `x` to that of the embeddings, (N, D)."""
    count = len(derivative)
    among, rows = derivative[:, :count], x[:count]
    with torch.autocast(x.device.type, enabled=False):
        gradient = torch.addmm(derivative @ x, among.T, rows)
    if not similar:
        # The terms in x_i itself are radial: for unit vectors, the projection below removes them.
        radial = 0 if inverse_length is not None else (derivative.sum(1) + among.sum(0))[:, None] * rows
        gradient = gradient.neg_().add_(radial).mul_(2)
    if inverse_length is not None:
        gradient -= rows * (gradient * rows).sum(1, keepdim=True)
        gradient *= inverse_length
    return gradient


def dot(first: Tensor, second: Tensor) -> Tensor:
    """The sum of the products of two (N, N), without an array of the products."""
    return torch.dot(first.reshape(-1), second.reshape(-1))
