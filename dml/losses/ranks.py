"""Smooth ranks: Smooth-AP and the recall@k surrogate. Each class is a part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels, full_precision, may_look
from dml.losses._pairs import PairLoss
from dml.settings import check_above
from dml.types import LogUniform, Space


class ListLoss(PairLoss):
    """The base of losses by the smooth ranks of each anchor's positives: 1 - the mean over anchors of their gains.

    Without normalisation all is in float64: differences of similarities are divided by a small temperature.
    """

    temperature: float

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels, x = checked_labels(embeddings, labels), full_precision(embeddings)
        geometry, positives, negatives = self.compare(x if self.normalize else x.double(), labels, tuples)
        value, derivative, lists = self._one_minus(geometry.matrix, positives, negatives)
        self.stats = {"anchor_share": lists / max(len(labels), 1)}
        anchors = lists.clamp(min=1)
        return geometry.finish(value / anchors, derivative, divisor=anchors * self.temperature).to(x.dtype)

    @abstractmethod
    def gain(self, right: Tensor, rank: Tensor, count: Tensor) -> tuple[Tensor, Tensor | float, Tensor]:
        """What positives add to the score, and its derivatives with respect to both ranks; (B, 1) each.

        `right`, `rank`: smooth ranks among the positives and among all. `count`: of the anchor's positives.
        """

    def _one_minus(self, similarities: Tensor, positives: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The sum over anchors of 1 - their gains, `temperature` times its derivative (N, M), the number of anchors."""
        counts = positives.sum(1)
        lists = counts.sign().sum()
        value, derivative = lists.clone(), torch.zeros_like(similarities)
        for anchors, items in _pairs(positives):
            row = torch.arange(len(anchors), device=anchors.device)
            above = similarities[anchors]
            above = torch.sigmoid(above.sub_(above[row, items, None]).div_(self.temperature))
            others, strangers = positives[anchors], negatives[anchors]
            weight = others[row, items, None]
            others[row, items] = 0
            right = 1 + (above * others).sum(1, keepdim=True)
            rank = right + (above * strangers).sum(1, keepdim=True)
            gained, by_right, by_rank = self.gain(right, rank, counts[anchors, None].clamp(min=1))
            value -= (weight * gained).sum()
            slope = others.mul_(by_right + by_rank).add_(strangers.mul_(by_rank))
            slope.mul_(weight.neg()).mul_(above).mul_(1 - above)
            slope[row, items] -= slope.sum(1)
            derivative.index_add_(0, anchors, slope)
        return value, derivative, lists


class SmoothAp(ListLoss):
    """Smooth-AP (Brown et al. 2020, Smooth-AP: smoothing the path towards large-scale image retrieval, eq. 6).

        1 - mean over anchors of 1/|P| sum_{p in P} (1 + sum_{j in P, j != p} g_pj) / (1 + sum_{j in P or N, j != p}
        g_pj) g_pj = sigmoid((s_ij - s_ip) / t)

    P and N are the positives and negatives of anchor i; anchors without a positive are left out. The ratio is the
    rank of p among the positives over its rank among all, with a sigmoid in place of the step.

    Deviation: the anchor itself is no item of its own list. In the paper's code it is one, always right.

    Takes O(N^2) memory, and O(N) time for each positive pair; on a GPU, whose host must not wait for their number,
    for each pair.

    Search space: around the paper's t = 0.01 (its table 6 has 0.001 to 0.1).

    Parameters
    ----------
    temperature : t, of the sigmoid; > 0.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"temperature": LogUniform(0.001, 0.1)}

    def __init__(self, temperature: float = 0.01, normalize: bool = True, memory: Mapping[str, Any] | None = None):
        super().__init__(normalize, memory)
        check_above("temperature", temperature, 0)
        self.temperature = temperature

    def gain(self, right: Tensor, rank: Tensor, count: Tensor) -> tuple[Tensor, Tensor | float, Tensor]:
        """The precision at the positive."""
        share = 1 / (rank * count)
        return right * share, share, -right / rank * share


def _pairs(positives: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The rows and columns of all positive pairs, at most N at once; on a GPU of all pairs."""
    count = len(positives)
    if may_look(positives):
        rows, columns = positives.nonzero(as_tuple=True)
        yield from zip(rows.split(max(count, 1)), columns.split(max(count, 1)), strict=True)
        return
    rows = torch.arange(count, device=positives.device)
    for column in range(positives.shape[1]):
        yield rows, torch.full_like(rows, column)


class RecallAtK(ListLoss):
    """Recall@k surrogate (Patel, Tolias, Matas 2022, Recall@k surrogate loss with large batches and similarity mixup).

        1 - mean over anchors and over k of 1/min(k, |P|) sum_{p in P} sigmoid((k - r_p) / t2)          (section 3.1)
        r_p = 1 + sum_{j in P or N, j != p} sigmoid((s_ij - s_ip) / t1)

    P and N are the positives and negatives of anchor i; anchors without a positive are left out. r_p is the smooth
    rank of p, and the outer sigmoid replaces the step that says whether it is among the first k. The k are the
    paper's 1, 2, 4, 8 and 16.

    The divisor min(k, |P|) is that of the authors' code (github.com/yash0307/RecallatK_surrogate). Deviations from
    it: the anchor itself is no item of its own list, a sum over positives is not cut at k, and t2 is the same for
    all k where the code's default is t2 = k. The similarity mixup, which makes further positives and negatives of a
    batch, is left out.

    Takes O(N^2) memory, and O(N) time for each positive pair; on a GPU, for each pair, as `smooth_ap`.

    Search space: of both temperatures around the paper's t1 = 0.01 and t2 = 1; a small t2 leaves a gradient only to
    ranks near a k.

    Parameters
    ----------
    ks : whole numbers of at least 1.
    temperature : t1, of the ranks; > 0.
    step_temperature : t2, of the step at k; > 0.
    normalize, memory : L2-normalise the embeddings; {size: ..., warm_up: ...} as `_pairs.py` says, or None.
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
