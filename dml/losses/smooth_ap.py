"""Smooth-AP (Brown et al. 2020, Smooth-AP: smoothing the path towards large-scale image retrieval, eq. 6).

    1 - mean over anchors of 1/|P| sum_{p in P} (1 + sum_{j in P, j != p} g_pj) / (1 + sum_{j in P or N, j != p} g_pj)
    g_pj = sigmoid((s_ij - s_ip) / t)

P and N are the positives and negatives of anchor i; anchors without a positive are left out. The ratio is the rank of p
among the positives over its rank among all, with a sigmoid in place of the step.

Deviation: the anchor itself is no item of its own list. In the paper's code it is one, always right.

Takes O(N^2) memory, and O(N) time for each positive pair; on a GPU, whose host must not wait for their number, for
each pair.

Search space: around the paper's t = 0.01 (its table 6 has 0.001 to 0.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, pair_masks
from dml.losses._geometry import Geometry
from dml.losses._settings import checked_labels, may_look
from dml.settings import check_above
from dml.types import LogUniform, Space


class SmoothAp(nn.Module):
    """One minus the average precision of each anchor's list, with a smooth rank.

    Parameters
    ----------
    temperature : t, of the sigmoid; > 0.
    normalize : L2-normalise the embeddings.
    """

    version: ClassVar[int] = 1
    uses_tuples: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    left_out: ClassVar[str] = "skipped"
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {"temperature": LogUniform(0.001, 0.1)}

    def __init__(self, temperature: float = 0.01, normalize: bool = True):
        super().__init__()
        check_above("temperature", temperature, 0)
        self.temperature, self.normalize = temperature, normalize
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry = Geometry(embeddings, "similarity", self.normalize)
        similarities = geometry.matrix
        positives, negatives = pair_masks(labels, tuples, similarities.dtype)
        counts = positives.sum(1)
        lists = counts.sign().sum()
        self.stats = {"anchor_share": lists / max(len(labels), 1)}
        value, derivative = lists.clone(), torch.zeros_like(similarities)
        for anchors, items in _pairs(positives):
            row = torch.arange(len(anchors), device=anchors.device)
            above = similarities[anchors]
            own = above[row, items, None]
            above = torch.sigmoid(above.sub_(own).div_(self.temperature))
            others = positives[anchors]
            others[row, items] = 0
            strangers = negatives[anchors]
            right = 1 + (above * others).sum(1, keepdim=True)
            rank = right + (above * strangers).sum(1, keepdim=True)
            weight = (positives[anchors, items] / counts[anchors].clamp(min=1))[:, None]
            value -= (weight * right / rank).sum()
            share = others.mul_((rank - right) / rank.square()).sub_(strangers.mul_(right / rank.square()))
            slope = share.mul_(weight).mul_(above).mul_(1 - above).neg_()  # of 1 - the average precision
            slope[row, items] -= slope.sum(1)
            derivative.index_add_(0, anchors, slope)
        over = lists.clamp(min=1)
        return geometry.finish(value / over, derivative, over=over * self.temperature)


def _pairs(positives: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The rows and columns of all positive pairs, at most N at once; on a GPU of all pairs."""
    count = len(positives)
    if may_look(positives):
        rows, columns = positives.nonzero(as_tuple=True)
        yield from zip(rows.split(max(count, 1)), columns.split(max(count, 1)), strict=True)
        return
    rows = torch.arange(count, device=positives.device)
    for column in range(count):
        yield rows, torch.full_like(rows, column)
