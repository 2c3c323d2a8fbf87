"""What the histogram loss costs against the number of pairs, and what one term per quadruplet would.

Cost is the number of elements of all tensors that the forward pass makes, which computes the slopes of all pairs too.
It is the same in every run, unlike time.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from dml.losses import build
from papers.element_counts import Made

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
    with Made() as seen:
        build("histogram", bins=BINS)(x, labels)
    positive = batch * (per_class - 1) // 2
    negative = batch * (batch - per_class) // 2
    return Cost(batch, positive + negative, positive * negative, seen.total, seen.largest)
