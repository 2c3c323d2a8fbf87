"""Embeddings, row by row: their precision, length and origin."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dml.tensors import unit_rows

FAR = 256  # centre the rows if their centre's squared length is this many times their squared distance from it


def full_precision(embeddings: Tensor) -> Tensor:
    """Half precision becomes float32; other types stay."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        rows, inverse = unit_rows(x)
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


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        with torch.autocast(x.device.type, enabled=False):
            return x @ w.mT

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            return upstream @ w, upstream.mT @ x


def products(x: Tensor, w: Tensor) -> Tensor:
    """x @ w^T of rows (..., N, D) and (..., M, D), in their own precision under autocast, forward and backward."""
    return _Products.apply(x, w)


def nothing(embeddings: Tensor) -> Tensor:
    """0, attached to the embeddings: the loss of an empty batch. NaN if an entry is NaN or infinite."""
    return (0 * full_precision(embeddings)).sum()


def unless_finite(x: Tensor) -> Tensor:
    """0, or NaN if an entry of x is NaN or infinite: 0-d, without a graph. Large entries do not overflow.

    A loss adds it to its value: a batch without tuples must not hide that the network has diverged.
    """
    return (0 * x.detach()).sum()


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
