"""Recall@k surrogate (Patel, Tolias, Matas 2022, Recall@k surrogate loss with large batches and similarity mixup).

    1 - mean over anchors and over k of 1/min(k, |P|) sum_{p in P} sigmoid((k - r_p) / t2)          (section 3.1)
    r_p = 1 + sum_{j in P or N, j != p} sigmoid((s_ij - s_ip) / t1)

P and N are the positives and negatives of anchor i; anchors without a positive are left out. r_p is the smooth rank of
p, and the outer sigmoid replaces the step that says whether it is among the first k. The k are the paper's 1, 2, 4, 8
and 16.

The divisor min(k, |P|) is that of the authors' code (github.com/yash0307/RecallatK_surrogate). Deviations from it: the
anchor itself is no item of its own list, a sum over positives is not cut at k, and t2 is the same for all k where the
code's default is t2 = k. The similarity mixup, which makes further positives and negatives of a batch, is left out.

Takes O(N^2) memory, and O(N) time for each positive pair; on a GPU, for each pair, as `smooth_ap`.

Search space: of both temperatures around the paper's t1 = 0.01 and t2 = 1; a small t2 leaves a gradient only to ranks
near a k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses.smooth_ap import ListLoss
from dml.settings import check_above
from dml.types import LogUniform, Space


class RecallAtK(ListLoss):
    """One minus the recall among the first k of each anchor's list, with a smooth rank and a smooth step at k.

    Parameters
    ----------
    ks : whole numbers of at least 1.
    temperature : t1, of the ranks; > 0.
    step_temperature : t2, of the step at k; > 0.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pair_loss.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "temperature": LogUniform(0.001, 0.1),
        "step_temperature": LogUniform(0.3, 3.0),
    }

    def __init__(
        self,
        ks: Sequence[int] = (1, 2, 4, 8, 16),
        temperature: float = 0.01,
        step_temperature: float = 1.0,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_above("temperature", temperature, 0)
        check_above("step_temperature", step_temperature, 0)
        if isinstance(ks, str) or not ks or not all(type(k) is int and k >= 1 for k in ks):
            raise ValueError(f"ks: expected whole numbers of at least 1, got {ks!r}")
        self.ks, self.temperature, self.step_temperature = tuple(ks), temperature, step_temperature

    def gain(self, right: Tensor, rank: Tensor, count: Tensor) -> tuple[Tensor, Tensor | float, Tensor]:
        """The recall, mean over the k."""
        gained, slope = torch.zeros_like(rank), torch.zeros_like(rank)
        for k in self.ks:
            inside, share = torch.sigmoid((k - rank) / self.step_temperature), 1 / count.clamp(max=k) / len(self.ks)
            gained += share * inside
            slope -= share * inside * (1 - inside) / self.step_temperature
        return gained, 0.0, slope
