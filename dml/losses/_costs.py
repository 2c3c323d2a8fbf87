"""What a pair costs, as a function of its gap: how far it is on the wrong side of where it should be.

A loss over pairs states the gaps and one of these functions, such as `Hinge(distances - beta + margin)`. Its value,
its gradient and its value for each pair follow. `each` is the definition, in plain autograd; `weighted` is the same
summed over the pairs, with its derivative, in place.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dml.losses._geometry import dot


class Weighted(NamedTuple):
    """A sum over pairs."""

    total: Tensor  # 0-d: sum of weight * cost
    slope: Tensor  # (N, N): weight * dcost/dgap
    active: Tensor  # 0-d: sum of the weights of pairs that cost something


class Cost(Protocol):
    """A function of the gaps (N, N) of all pairs."""

    def each(self) -> Tensor:
        """The cost of each pair (N, N), differentiable by autograd."""
        ...

    def weighted(self, weights: Tensor) -> Weighted:
        """The sum of the costs with weights (N, N). Overwrites the gaps and the weights."""
        ...


class Linear(NamedTuple):
    """The gap, which is at least 0."""

    gap: Tensor

    def each(self) -> Tensor:
        return self.gap

    def weighted(self, weights: Tensor) -> Weighted:
        total = dot(weights, self.gap)
        return Weighted(total, weights, dot(weights, self.gap.sign_()))


class Hinge(NamedTuple):
    """[gap]_+"""

    gap: Tensor

    def each(self) -> Tensor:
        return torch.relu(self.gap)

    def weighted(self, weights: Tensor) -> Weighted:
        cost = self.gap.relu_()
        total = dot(weights, cost)
        slope = weights.mul_(cost.sign_())
        return Weighted(total, slope, slope.sum())


class HalfSquare(NamedTuple):
    """1/2 [gap]_+^2"""

    gap: Tensor

    def each(self) -> Tensor:
        return torch.relu(self.gap).square() / 2

    def weighted(self, weights: Tensor) -> Weighted:
        gap = self.gap.relu_()
        slope = weights * gap
        total = dot(slope, gap) / 2
        return Weighted(total, slope, dot(weights, gap.sign_()))
