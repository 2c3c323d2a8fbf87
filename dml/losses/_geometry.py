"""Distances and similarities of a batch, and a loss's gradient back to its embeddings.

Most losses here are functions of one N x N matrix: similarities `s_ij = x_i . x_j`, squared distances
`D_ij = |x_i - x_j|^2` or distances `d_ij`. Such a loss computes its value and its derivative with respect to that
matrix in the forward pass, without a graph. `Geometry.finish` then takes the derivative back to the embeddings:

    D: dL/dx_i = 2 sum_j (V_ij + V_ji) (x_i - x_j),  V = dL/dD         s: dL/dx_i = sum_j (W_ij + W_ji) x_j,  W = dL/ds

Autograd keeps one (N, D) array until the backward pass, and no N x N matrix. Second derivatives are not supported.

Precision: everything is computed in float32 at least, also under autocast. Distances come from the Gram matrix, so the
error of D_ij is a few units in the last place of |x_i|^2 + |x_j|^2. Squared distances below that floor count as 0 (for
float32 unit vectors, distances below 1e-3), and so does the slope of the square root at 0. Distances do not depend on
the origin, so embeddings far from it are centred first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

FLOOR = 4  # rounding floor of D_ij, in units in the last place of |x_i|^2 + |x_j|^2
FAR = 256  # centre the rows if their centre's squared length is this many times their squared distance from it


class _Attach(torch.autograd.Function):
    """A value with gradients that were computed beside it."""

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


def full_precision(embeddings: Tensor) -> Tensor:
    """Half precision becomes float32; other types stay."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


def _unit_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (N, D) divided by their length, and 1 / length (N, 1). A zero row stays zero, with 1 / length = 0."""
    # Scaling by the largest entry first keeps the squares of very small and very large rows representable.
    largest = x.abs().amax(1, keepdim=True) if x.shape[1] else x.new_zeros(len(x), 1)
    zero = largest == 0
    scale = largest.add_(zero).reciprocal_()
    x = x * scale
    length = x.square().sum(1, keepdim=True).sqrt_().add_(zero)
    return x.div_(length), scale.div_(length).mul_(~zero)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        rows, inverse = _unit_rows(x)
        ctx.save_for_backward(rows, inverse)
        return rows

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        rows, inverse = ctx.saved_tensors
        along = (upstream * rows).sum(1, keepdim=True)
        return torch.addcmul(upstream, rows, along, value=-1).mul_(inverse)


def unit(x: Tensor) -> Tensor:
    """Rows (N, D) divided by their length, at any scale, differentiable. A zero row stays zero; its gradient is 0."""
    return _Unit.apply(x)


def nothing(embeddings: Tensor) -> Tensor:
    """0, attached to the embeddings: the loss of an empty batch."""
    return 0 * full_precision(embeddings).sum()


def prepared(embeddings: Tensor, normalize: bool) -> Tensor:
    """Embeddings (N, D) in float32 at least, as unit rows if `normalize`; differentiable."""
    x = full_precision(embeddings)
    return unit(x) if normalize else x


def positions(embeddings: Tensor, normalize: bool) -> Tensor:
    """Like `prepared`, for losses of distances only: rows far from the origin are moved to it."""
    x = prepared(embeddings, normalize)
    return x if normalize else x - offset(x.detach())


def offset(x: Tensor) -> Tensor:
    """A centre (D,) of rows (N, D) if it is far from 0 compared with the rows' distances from it, else 0."""
    apart = (x - x.sum(0) / max(len(x), 1)).square().sum(1)
    scale = apart.sum() / max(len(x), 1) + torch.finfo(x.dtype).tiny
    weights = scale / (apart + 0.1 * scale)  # outliers must neither move the centre nor widen the spread
    weights = weights / weights.sum()
    centre = (weights[:, None] * x).sum(0)
    spread = (weights * (x - centre).square().sum(1)).sum()
    return torch.where(centre.square().sum() > FAR * spread, centre, 0)


def safe_root(squared: Tensor) -> Tensor:
    """The square root, with slope 0 at 0; differentiable."""
    zero = squared <= 0
    return torch.sqrt(squared + zero) * ~zero


class Geometry:
    """The pair matrix of one batch, without a graph, and the way back to the embeddings.

    Parameters
    ----------
    embeddings : (N, D) float; may require a gradient.
    measure : `euclidean` (d), `squared` (D) or `similarity` (s).
    normalize : divide rows by their L2 length first.

    Attributes
    ----------
    matrix : (N, N) of `measure`. A loss may overwrite it. Distances are exactly 0 on the diagonal and for rows that are
        equal up to rounding.
    """

    def __init__(self, embeddings: Tensor, measure: str, normalize: bool):
        self._embeddings, self._similar, self._unit = embeddings, measure == "similarity", normalize
        x = full_precision(embeddings.detach())
        self._inverse_length: Tensor | None = None
        if normalize:
            x, self._inverse_length = _unit_rows(x)
        elif not self._similar:
            x = x - offset(x)
        self._x = x
        self._inverse: Tensor | None = None  # 1 / d
        with torch.autocast(x.device.type, enabled=False):
            self.matrix = x @ x.T if self._similar else self._squared()
        if measure == "euclidean":
            squared, self.matrix = self.matrix, self.matrix.sqrt()
            self._inverse = torch.div(self.matrix, squared.add_(1e-30), out=squared)

    def _squared(self) -> Tensor:
        norms = self._x.square().sum(1)
        matrix = torch.addmm(norms[:, None].expand(-1, len(norms)), self._x, self._x.T, alpha=-2).add_(norms)
        floor = FLOOR * torch.finfo(matrix.dtype).eps
        if self._unit:
            return torch.threshold_(matrix, 2 * floor, 0.0).fill_diagonal_(0)
        above = matrix > (norms[:, None] + norms).mul_(floor)
        return matrix.clamp_(min=0).mul_(above).fill_diagonal_(0)

    def finish(
        self, value: Tensor, derivative: Tensor, *parameters: tuple[Tensor, Tensor], over: Tensor | float = 1.0
    ) -> Tensor:
        """The scalar `value`, attached to the embeddings and to parameters.

        Parameters
        ----------
        derivative : (N, N), `over` times the derivative of `value` with respect to `matrix`; overwritten.
        parameters : (parameter, derivative of `value` with respect to it).
        over : what `derivative` is still to be divided by.
        """
        terms = [term for term in parameters if term[0].requires_grad and torch.is_grad_enabled()]
        if self._embeddings.requires_grad and torch.is_grad_enabled():
            if self._inverse is not None:
                derivative, over = derivative.mul_(self._inverse), 2 * over  # dd/dD = 1 / (2 d)
            gradient = _back(derivative, self._x, self._inverse_length, self._similar)
            terms.append((self._embeddings, gradient.div_(over)))
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
    """From the derivative (N, N) of similarities or squared distances of `x` to that of the embeddings, (N, D)."""
    with torch.autocast(x.device.type, enabled=False):
        gradient = torch.addmm(derivative @ x, derivative.T, x)
    if not similar:
        # The terms in x_i itself are radial: for unit vectors, the projection below removes them.
        radial = 0 if inverse_length is not None else (derivative.sum(1) + derivative.sum(0))[:, None] * x
        gradient = gradient.neg_().add_(radial).mul_(2)
    if inverse_length is not None:
        gradient -= x * (gradient * x).sum(1, keepdim=True)
        gradient *= inverse_length
    return gradient


def dot(first: Tensor, second: Tensor) -> Tensor:
    """The sum of the products of two (N, N), without an array of the products."""
    return torch.dot(first.reshape(-1), second.reshape(-1))
