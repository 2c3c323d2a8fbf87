"""Histogram loss (Ustinova and Lempitsky 2016): all quadruplets of a batch, and no margin.

    L = sum_r h-_r sum_{q <= r} h+_q

the probability that a random negative pair is more similar than a random positive one, from histograms h+ and h- with
R nodes on [-1, 1]. Each similarity adds linearly to its two neighbouring nodes. In closed form (the poster's eq. 3
and 4 corrected): dL/dh-_r = sum_{q <= r} h+_q, dL/dh+_r = sum_{q >= r} h-_q, and h_r grows by 1 / (Delta |S|) per
unit of s from the node below and falls by as much from the node above. Forward and backward are one scatter and one
gather over the pairs, without an array of pairs x nodes. Similarities beyond [-1, 1] count as the nearest end, without
a gradient if they are not normalised.

A pair has no anchor here: a pair that the tuples contain in either direction counts once, as in
pytorch-metric-learning.

Search space: the poster reports that the number of nodes hardly matters; one doubling up and two down from its 201.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels
from dml.losses._pairs import PairLoss
from dml.settings import check_count
from dml.types import Choice, Space


class Histogram(PairLoss):
    """The overlap of the histograms of positive and negative similarities.

    Parameters
    ----------
    bins : number R of nodes, both ends included, >= 2: 201 gives a step of 0.01.
    normalize : L2-normalise the embeddings; if False, they should have unit length already.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"bins": Choice((51, 101, 201, 401))}

    def __init__(self, bins: int = 201, normalize: bool = True, memory: Mapping[str, Any] | None = None):
        super().__init__(normalize, memory)
        self.bins = check_count("bins", bins, 2)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar in [0, 1]."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        beyond = None if self.normalize else similarities.abs() > 1
        place = similarities.clamp_(-1, 1).add_(1).mul_((self.bins - 1) / 2)
        if tuples is not None:
            for among in (positives[:, : len(labels)], negatives[:, : len(labels)]):
                among.copy_(torch.maximum(among, among.T))
        # Three histograms, one after the other: negatives, positives, and the pairs that do not count.
        below = place.floor().clamp_(max=self.bins - 2).nan_to_num_(nan=0.0)  # a valid index; the share stays NaN
        share = place.sub_(below).flatten().double()  # float32 sums of 10^7 terms would lose the small ones
        offset = negatives.mul_(-2).sub_(positives).add_(2)
        index = below.add_(offset, alpha=self.bins).flatten().long()
        empty = share.new_zeros(3 * self.bins)
        number = empty.index_add(0, index, torch.ones_like(share))
        upper = empty.index_add(0, index, share)
        mass = (number - upper + torch.roll(upper, 1)).view(3, self.bins)
        size = number.view(3, self.bins).sum(1, keepdim=True).clamp(min=1)
        of_negative, of_positive, _ = mass / size
        # If a kind of pair is missing, its histogram, the loss and every slope are zero.
        below_positive = of_positive.cumsum(0)
        above_negative = of_negative.flip(0).cumsum(0).flip(0)
        slopes = torch.stack((below_positive, above_negative, torch.zeros_like(of_negative))).diff(dim=1)
        slopes = torch.nn.functional.pad(slopes * (self.bins - 1) / 2 / size, (0, 1))
        gradient = slopes.flatten().to(place.dtype)[index].view_as(place)
        value = (of_negative * below_positive).sum().to(place.dtype)
        if beyond is not None:
            gradient.masked_fill_(beyond, 0)
        return geometry.finish(value, gradient)
