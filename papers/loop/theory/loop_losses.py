"""Whether the HPHN triplet loss equals the lifted structure loss in LoOp's form, as both are implemented."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from dml.losses import build

SYNTHESES = ("none", "loop", "embedding_expansion")


class Difference(NamedTuple):
    """Over random batches with the same number of samples per class."""

    per_class: int
    synthesis: str
    value: float  # the largest |HPHN - lifted|
    gradient: float  # the largest entry of the difference of their gradients
    size: float  # the mean value of the lifted loss


@cache
def differences(batches: int = 10) -> tuple[Difference, ...]:
    """The largest differences for 2 and 4 samples per class, in float64."""
    return tuple(_difference(per_class, s, batches) for per_class in (2, 4) for s in SYNTHESES)


def _difference(per_class: int, synthesis: str, batches: int) -> Difference:
    g = torch.Generator().manual_seed(per_class)
    labels = torch.arange(24 // per_class).repeat_interleave(per_class)
    values, gradients, sizes = [], [], []
    for _ in range(batches):
        x = torch.randn(len(labels), 8, generator=g, dtype=torch.float64)
        order = torch.randperm(len(labels), generator=g)
        losses: list[float] = []
        slopes: list[torch.Tensor] = []
        for name in ("hphn_triplet", "lifted_hinge"):
            leaf = x[order].requires_grad_()
            value = build(name, margin=0.5, synthesis=synthesis)(leaf, labels[order])
            losses.append(float(value.detach()))
            slopes += torch.autograd.grad(value, leaf)
        values.append(abs(losses[0] - losses[1]))
        gradients.append(float((slopes[0] - slopes[1]).abs().max()))
        sizes.append(losses[1])
    return Difference(per_class, synthesis, max(values), max(gradients), sum(sizes) / batches)
