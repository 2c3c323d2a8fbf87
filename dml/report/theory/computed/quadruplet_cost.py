"""What the histogram loss costs against the number of pairs, and what one term per quadruplet would.

Cost is the number of elements of all tensors that the forward pass makes, which computes the slopes of all pairs too.
It is the same in every run, unlike time.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dml.losses import build

BINS = 201


class Cost(NamedTuple):
    """One batch size."""

    batch: int
    pairs: int  # of positives and negatives, each once
    quadruplets: int  # positive pairs times negative pairs
    made: int  # elements of the tensors that the loss makes
    largest: int  # elements of the largest of them


@cache
def costs(batches: tuple[int, ...] = (64, 128, 256, 512), per_class: int = 4, dimension: int = 8) -> tuple[Cost, ...]:
    """The cost for each batch size."""
    return tuple(_cost(batch, per_class, dimension) for batch in batches)


def _cost(batch: int, per_class: int, dimension: int) -> Cost:
    labels = torch.arange(batch // per_class).repeat_interleave(per_class)
    x = torch.randn(batch, dimension, generator=torch.Generator().manual_seed(0))
    with _Made() as seen:
        build("histogram", bins=BINS)(x, labels)
    positive = batch * (per_class - 1) // 2
    negative = batch * (batch - per_class) // 2
    return Cost(batch, positive + negative, positive * negative, seen.total, seen.largest)


class _Made(TorchFunctionMode):
    """Counts the elements of the tensors that operations return."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.largest = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for item in made if isinstance(made, tuple | list) else [made]:
            if isinstance(item, Tensor):
                self.total += item.numel()
                self.largest = max(self.largest, item.numel())
        return made
