"""What HPHN's triplet loss makes by itself, with LoOp and with embedding expansion."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from dml.losses import build
from dml.losses.synthesis import hardest
from papers.element_counts import Made

BATCHES, PER_CLASS, DIMENSION = (32, 64, 128, 256), 4, 8
POINTS = (1, 2, 4, 8, 16)  # that embedding expansion interpolates within a pair


class Cost(NamedTuple):
    """One batch size and synthesis."""

    batch: int
    synthesis: str  # none, loop or embedding_expansion
    points: int  # 0 but for embedding_expansion
    made: int  # elements of the tensors that the loss makes
    largest: int  # elements of the largest of them


@cache
def costs() -> tuple[Cost, ...]:
    """The forward pass for each batch size, synthesis and number of points."""
    settings = [("none", 0), ("loop", 0), *(("embedding_expansion", n) for n in POINTS)]
    return tuple(_cost(batch, *each) for batch in BATCHES for each in settings)


@cache
def combinations() -> dict[tuple[int, int], int]:
    """By batch size and samples per class: the pairs of two positive pairs of different classes, each once."""
    pairs = {}
    for batch in BATCHES:
        for per_class in (2, 4, 8):
            x, labels = _batch(batch, per_class)
            mask = hardest(torch.nn.functional.normalize(x), labels, "loop").mask
            pairs[batch, per_class] = int(mask.sum()) // 2
    return pairs


def _cost(batch: int, synthesis: str, points: int) -> Cost:
    loss = build("hphn_triplet", synthesis=synthesis, **({"points": points} if points else {}))
    with Made() as seen:
        loss(*_batch(batch, PER_CLASS))
    return Cost(batch, synthesis, points, seen.total, seen.largest)


def _batch(size: int, per_class: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(size, DIMENSION, generator=torch.Generator().manual_seed(0))
    return x, torch.arange(size // per_class).repeat_interleave(per_class)
