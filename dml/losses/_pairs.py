"""What losses over the pairs of each anchor share: the cost of a pair by its gap, their attributes, and a memory.

A loss states the gap of each pair, how far it is on the wrong side, and a cost such as `Hinge(d - beta + margin)`. Its
value, its gradient and its value for each pair follow: `each` is the definition, (N, N) in plain autograd; `weighted`
is the same summed over the pairs by weights (N, N), with its derivative. It overwrites the gaps and the weights.

A memory (Wang et al. 2020, Cross-batch memory for embedding learning) gives each sample of the batch further positives
and negatives: the embeddings and labels of the latest `size` samples, which are constants and no anchors. Nothing is
remembered or compared in the first `warm_up` steps (section 3.1; the paper has 1,000). What a filter leaves out is not
remembered, nor is a batch of a loss in evaluation mode. Deviation: the paper adds a second loss over the memory, which
contains the batch; here one loss is over both, and a sample is not compared with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, among_references, full_precision, pair_masks
from dml.losses._geometry import Geometry, dot
from dml.settings import Shown, check_count
from dml.tensors import Ring


class Weighted(NamedTuple):
    """A sum over pairs."""

    total: Tensor  # 0-d: sum of weight * cost
    slope: Tensor  # (N, N): weight * dcost/dgap
    active: Tensor  # 0-d: sum of the weights of pairs that cost something


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


Cost = Linear | Hinge | HalfSquare


class Memory(nn.Module):
    """Embeddings and labels of the latest samples, and whether it is used yet."""

    version: ClassVar[int] = 1

    def __init__(self, size: int, warm_up: int = 1000):
        super().__init__()
        self.size, self.warm_up = check_count("memory: size", size), check_count("memory: warm_up", warm_up, 0)
        self._steps = 0
        self._ring: list[Ring] = []  # none before the first sample, which says how long embeddings are

    @torch.no_grad()
    def exchange(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """Remember embeddings (N, D) with labels int64 (N,); return what was remembered before, or None."""
        self._steps += self.training
        if self._steps <= self.warm_up or not (self.training or self._ring):
            return None
        x = full_precision(embeddings.detach())
        if not self._ring:
            self._ring.append(Ring(self.size, x.shape[1], x.dtype))
        ring = self._ring[0].to(x.device)
        if ring.rows.shape[1] != x.shape[1]:
            raise ValueError(f"embeddings: expected (N, {ring.rows.shape[1]}) as in the memory, got {tuple(x.shape)}")
        before = ring.rows[:-1].clone(), ring.labels[:-1].clone(), ring.held
        if self.training:
            places, kept = ring.places(x.isfinite().all(1))  # one NaN would stay for many steps
            ring.put(places, kept, x.to(ring.rows.dtype), labels)
        return before

    def get_extra_state(self) -> dict[str, Any]:
        return {"steps": self._steps, "ring": dict(self._ring[0].state_dict()) if self._ring else {}}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self._steps, held = state["steps"], state["ring"]
        self._ring = [Ring(self.size, held["rows"].shape[1], held["rows"].dtype)] if held else []
        for ring in self._ring:
            ring.load_state_dict(held)


class PairLoss(Shown, nn.Module):
    """The base of losses that compare each anchor with others, by a matrix of similarities or distances."""

    uses_tuples: bool = True
    takes_padding: ClassVar[bool] = True
    mining: Mapping[str, Any] = {}

    def __init__(self, normalize: bool, memory: Mapping[str, Any] | None = None, left_out: str = "skipped"):
        super().__init__()
        if memory is not None and not (isinstance(memory, Mapping) and {"size"} <= {*memory} <= {"size", "warm_up"}):
            raise ValueError(f"memory: expected {{size: ..., warm_up: ...}}, got {memory!r}")
        self.normalize = normalize
        self.memory = None if memory is None else Memory(**memory)
        self.left_out = left_out if memory is None else "removed"
        self.stats: dict[str, Tensor] = {}

    def __call__(
        self,
        embeddings: Tensor,
        labels: Tensor,
        tuples: Form = None,
        ref_emb: Tensor | None = None,
        ref_labels: Tensor | None = None,
    ) -> Tensor:
        """`forward`. With references (M, D), (M,), which tuples index as in pytorch-metric-learning (not the anchors):
        the value of the batch and the references in one.
        """
        if ref_emb is not None and ref_labels is not None:
            if not self.uses_tuples or self.memory is not None:
                raise ValueError(f"{self}: references need a loss that takes tuples and has no memory of its own")
            tuples, anchors = among_references(labels, ref_labels, tuples), len(labels)
            embeddings, labels = torch.cat((embeddings, ref_emb)), torch.cat((labels, ref_labels.to(labels)))
            value = super().__call__(embeddings, labels, tuples)
            return value * (len(labels) / anchors) if self.left_out == "counted" else value  # references are no anchors
        return super().__call__(embeddings, labels, tuples)  # type: ignore[no-any-return]

    def compare(
        self,
        embeddings: Tensor,
        labels: Tensor,
        tuples: Form,
        measure: str = "similarity",
        form: Callable[[Tensor, Form, torch.dtype], tuple[Tensor, Tensor]] = pair_masks,
    ) -> tuple[Geometry, Tensor, Tensor]:
        """Embeddings (N, D), labels int64 (N,) -> the pair matrix, and positive and negative pairs, (N, N + M) all."""
        earlier = None if self.memory is None else self.memory.exchange(embeddings, labels)
        if earlier is None:
            geometry = Geometry(embeddings, measure, self.normalize)
            return geometry, *form(labels, tuples, geometry.matrix.dtype)
        rows, others, held = earlier
        geometry = Geometry(embeddings, measure, self.normalize, rows)
        positives, negatives = form(labels, tuples, geometry.matrix.dtype)
        same = labels[:, None] == others
        positives = torch.cat((positives, (same & held).to(positives.dtype)), 1)
        return geometry, positives, torch.cat((negatives, (~same & held).to(negatives.dtype)), 1)
