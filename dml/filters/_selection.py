"""What PRISM and its variant for more noise share: P_clean from scores against all classes, and what is kept.

A sample's score against class k is `scale_k . v + offset_k` for its unit embedding v, and

    P_clean(v) = exp(score_y) / sum_k exp(score_k)

over the classes that the memory holds. A sample of another class counts as clean: it is kept, with P_clean = 1. During
the warm-up every sample is kept and remembered, and no quantile is recorded, since a new network's are another's.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from dml.filters._batch import check_counts, checked_batch
from dml.filters._memory import ALL, ClassMemory
from dml.filters._ranking import SmoothTopR
from dml.tensors import directions

Fit = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Means float64 (n, D) of some classes -> `scale` (n, D) and `offset` (n,)."""


class Selection(nn.Module):
    """P_clean by classes' memories, and the samples above its running quantile.

    Parameters
    ----------
    fit : from the means of classes to their scores.
    num_classes, embedding_size : K and D.
    rate : the assumed share of wrong labels, 0 <= rate < 1.
    memory : entries of the memory.
    window : batches whose quantiles are averaged.
    warm_up : steps that keep every sample.

    Raises
    ------
    ValueError : a setting that is out of range.
    """

    scale: Tensor
    offset: Tensor

    def __init__(
        self, fit: Fit, num_classes: int, embedding_size: int, rate: float, memory: int, window: int, warm_up: int
    ):
        super().__init__()
        _check_rate(rate)
        check_counts(1, num_classes=num_classes, embedding_size=embedding_size, memory=memory, window=window)
        check_counts(0, warm_up=warm_up)
        self._fit, self._warm_up, self._steps = fit, warm_up, 0
        self.memory = ClassMemory(num_classes, embedding_size, memory)
        self.threshold = SmoothTopR(float(rate), window)
        self.register_buffer("scale", torch.zeros(num_classes, embedding_size))
        self.register_buffer("offset", torch.full((num_classes,), -torch.inf))  # of a class without a memory

    @torch.no_grad()
    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,): which samples take part; none that is not finite.

        Raises
        ------
        ValueError : no samples, another D, or labels that are not from 0 to K - 1 (on a CPU: a GPU is not asked).
        """
        labels = checked_batch(embeddings, labels, self.scale.shape[1], len(self.scale))
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = directions(embeddings.detach().float())
            finite = unit.isfinite().all(1)
            unit = torch.where(finite[:, None], unit, 0.0)  # one NaN in the memory would stay in it for good
            if self._steps < self._warm_up:
                kept = finite
            else:
                kept = self.threshold(self.probabilities(unit, labels)) | (self.memory.counts[labels] == 0)
                kept = kept & finite
            self._steps += 1
            changed: Tensor | slice = self.memory.add(unit, labels, kept)
            if 2 * len(labels) >= len(self.scale):
                changed = ALL  # fewer rows
            scale, offset = self._fit(self.memory.means(changed))
            self.scale[changed] = scale.float()  # a class that comes several times gets equal rows
            self.offset[changed] = torch.where(self.memory.counts[changed] > 0, offset, -torch.inf).float()
        return kept

    def probabilities(self, unit: Tensor, labels: Tensor) -> Tensor:
        """P_clean (N,) of unit embeddings float32 (N, D) with labels int64 (N,); 1 without a memory of the class."""
        scores = torch.addmm(self.offset, unit, self.scale.T)
        own = scores.gather(1, labels[:, None])[:, 0]
        return torch.where(self.memory.counts[labels] > 0, (own - scores.logsumexp(1)).exp(), 1.0)

    def get_extra_state(self) -> dict[str, Any]:
        """How many steps came so far."""
        return {"steps": self._steps}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self._steps = state["steps"]


def _check_rate(rate: Any) -> None:
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= float(rate) < 1:
        raise ValueError(f"rate: expected the share of wrong labels, 0 <= rate < 1; got {rate!r}")
