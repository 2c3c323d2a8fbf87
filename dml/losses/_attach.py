"""Gradients that a loss computes beside its value, made available to autograd. Second derivatives are not supported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


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
