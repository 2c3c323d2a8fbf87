"""Similarities and distances of a batch, and a loss's way back to its embeddings.

A loss here is a function of the N x N similarities `s_ij = x_i . x_j` or squared distances `D_ij = |x_i - x_j|^2`
whose derivative has a closed form. So a loss computes its value and its derivative with respect to that matrix side by
side, without a graph, and `finish` takes the derivative back to the embeddings at once:

    D: dL/dx_i = 2 sum_j (V_ij + V_ji) (x_i - x_j),  V = dL/dD         s: dL/dx_i = sum_j (W_ij + W_ji) x_j,  W = dL/ds

What autograd keeps until the backward pass is one (N, D) array; an N x N matrix lives in the forward pass alone. A
second derivative is refused. Distances are computed in float32 at least, under autocast too, and from the Gram
matrix: the error of a squared distance is a few units in the last place of |x|^2, so that a float32 distance below
1e-3 (unit vectors) cannot be told from rounding. It counts as 0, and the slope of the square root there as 0.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Attach(torch.autograd.Function):
    """A value, computed elsewhere, with gradients computed elsewhere."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, *inputs_and_gradients: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs_and_gradients[len(inputs_and_gradients) // 2 :])
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ctx.saved_tensors
        return (None, *(upstream.to(g.dtype) * g for g in gradients), *(None for _ in gradients))


def attach(value: Tensor, *terms: tuple[Tensor, Tensor]) -> Tensor:
    """The scalar `value`, whose derivative with respect to each input is given: terms are (input, derivative)."""
    return _Attach.apply(value, *(i for i, _ in terms), *(g.to(i.dtype) for i, g in terms))


def full_precision(embeddings: Tensor) -> Tensor:
    """Half precision becomes float32; anything else stays."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


def unit(embeddings: Tensor) -> Tensor:
    """Rows (N, D) divided by their length, differentiably. A zero row stays zero and its gradient is zero."""
    length = embeddings.square().sum(1, keepdim=True)
    zero = length == 0
    return embeddings * torch.rsqrt(length + zero) * ~zero


def prepared(embeddings: Tensor, normalize: bool) -> Tensor:
    """Embeddings (N, D) in float32 at least, unit rows where `normalize`; differentiable."""
    x = full_precision(embeddings)
    return unit(x) if normalize else x


def squared_distances(x: Tensor) -> Tensor:
    """Squared distances (N, N) of the rows of x, differentiable by autograd: for losses without a closed form."""
    with torch.autocast(x.device.type, enabled=False):
        gram = x @ x.T
    norms = gram.diagonal()
    matrix = norms[:, None] + norms - 2 * gram
    return matrix * (matrix > 8 * torch.finfo(x.dtype).eps * norms.detach().max()).fill_diagonal_(False)


def safe_root(squared: Tensor) -> Tensor:
    """The square root, with slope 0 at 0; differentiable."""
    zero = squared <= 0
    return torch.sqrt(squared + zero) * ~zero


class Geometry:
    """One batch's embeddings, detached, and the way back to them.

    Parameters
    ----------
    embeddings : (N, D) float; may require a gradient.
    normalize : divide rows by their L2 length first.
    """

    def __init__(self, embeddings: Tensor, normalize: bool):
        self._embeddings, self._normalize = embeddings, normalize
        x = full_precision(embeddings.detach())
        if normalize:
            # Scaling by the largest entry first keeps the squares of very small and very large rows representable.
            largest = x.abs().amax(1, keepdim=True) if x.shape[1] else x.new_zeros(len(x), 1)
            zero = largest == 0
            scale = 1 / (largest + zero)
            x = x * scale
            length = x.square().sum(1, keepdim=True).sqrt()
            self._inverse = scale / (length + zero) * ~zero
            x = x / (length + zero)
        self.x = x
        self.wanted = torch.is_grad_enabled() and embeddings.requires_grad

    def similarities(self) -> Tensor:
        """Inner products (N, N)."""
        with torch.autocast(self.x.device.type, enabled=False):
            return self.x @ self.x.T

    def squared(self) -> Tensor:
        """Squared Euclidean distances (N, N), exactly 0 on the diagonal and for rows equal up to rounding."""
        norms = self.x.square().sum(1)
        with torch.autocast(self.x.device.type, enabled=False):
            matrix = torch.addmm(norms[:, None].expand(-1, len(norms)), self.x, self.x.T, alpha=-2).add_(norms)
        floor = 8 * torch.finfo(matrix.dtype).eps
        if self._normalize:
            return torch.threshold_(matrix, floor, 0.0).fill_diagonal_(0)
        largest = norms.max() if len(norms) else norms.sum()
        return matrix.clamp_(min=0).mul_(matrix > floor * largest).fill_diagonal_(0)

    def finish(
        self,
        value: Tensor,
        *parameters: tuple[Tensor, Tensor],
        similarity: Tensor | None = None,
        squared: Tensor | None = None,
        over: Tensor | float = 1.0,
    ) -> Tensor:
        """The scalar `value`, attached to the embeddings and to `parameters`, which are (parameter, derivative).

        Exactly one of `similarity` = dL/ds and `squared` = dL/dD, (N, N), is given, still to be divided by `over`.
        """
        terms = [term for term in parameters if term[0].requires_grad and torch.is_grad_enabled()]
        if self.wanted:
            with torch.autocast(self.x.device.type, enabled=False):
                terms.append((self._embeddings, self._back(similarity, squared).div_(over)))
        return attach(value, *terms) if terms else value

    def _back(self, similarity: Tensor | None, squared: Tensor | None) -> Tensor:
        matrix = similarity if squared is None else squared
        assert matrix is not None
        gradient = torch.addmm(matrix @ self.x, matrix.T, self.x)
        if squared is not None:
            # The terms in x_i itself are radial: of unit vectors, the projection below takes them off.
            radial = 0 if self._normalize else (squared.sum(1) + squared.sum(0))[:, None] * self.x
            gradient = gradient.neg_().add_(radial).mul_(2)
        if self._normalize:
            gradient -= self.x * (gradient * self.x).sum(1, keepdim=True)
            gradient *= self._inverse
        return gradient


def roots(squared: Tensor) -> tuple[Tensor, Tensor]:
    """Distances d = sqrt(D) (N, N) and 1 / d, which counts as 0 where d is 0. dd/dD is half of it. Overwrites D."""
    distances = squared.sqrt()
    return distances, torch.div(distances, squared.add_(1e-30), out=squared)


def dot(first: Tensor, second: Tensor) -> Tensor:
    """The sum of the products of two (N, N), without an array of the products."""
    return torch.dot(first.reshape(-1), second.reshape(-1))
