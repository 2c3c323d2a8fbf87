"""Quadruplet loss (Chen, Chen, Zhang, Huang 2017, Beyond triplet loss, eq. 4), on squared distances D.

    mean over triplets of [D_ap - D_an + margin]_+  +  mean over quadruplets of [D_ap - D_kl + margin2]_+

where k and l are of two different classes, neither of them a's. Given tuples, the first term uses the triples. The
second uses their positive pairs, each once, with every such pair (k, l) of the batch, since miners choose none. So all
triples give the same value as no tuples. With two classes there is no quadruplet, and only the first term remains.

All quadruplets cost one sort of the N^2 distances: the distances below a threshold are counted over the whole batch,
and those that touch a's class are subtracted, counted in the same order class by class.

Search space: margins of the triplet loss on squared distances, and a smaller second margin as in the paper, down to
0. No published search.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels, is_triples, may_look, pair_masks, triples
from dml.losses._geometry import Geometry
from dml.losses._pairs import PairLoss
from dml.losses._triplets import all_triplets, listed_triplets, sortable
from dml.settings import check_at_least
from dml.types import Space, Uniform


class Quadruplet(PairLoss):
    """A positive pair closer than a negative pair of its own anchor, and closer than any pair of two other classes.

    `margin`, `margin2`: >= 0, of the first and the second term, in squared distance. `normalize`: to unit length.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"margin": Uniform(0.05, 0.6), "margin2": Uniform(0.0, 0.4)}

    def __init__(self, margin: float = 0.2, margin2: float = 0.1, normalize: bool = True):
        super().__init__(normalize, left_out="removed")
        check_at_least("margin", margin, 0)
        check_at_least("margin2", margin2, 0)
        self.margin, self.margin2 = margin, margin2

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry = Geometry(embeddings, "squared", self.normalize)
        squared = geometry.matrix
        positives, negatives = pair_masks(labels, tuples, squared.dtype)
        if is_triples(tuples):
            first, active, total, gradient = listed_triplets(squared, *triples(labels, tuples), self.margin)
        else:
            first, active, gradient = all_triplets(squared, positives, negatives, self.margin)
            total = torch.dot(positives.sum(1).double(), negatives.sum(1).double())
        total = total.clamp(min=1)
        second, more = _second_term(squared, labels, positives, self.margin2)
        self.stats = {"active_share": active / total}
        value = (first / total + second).to(squared.dtype)
        return geometry.finish(value, gradient.div_(total).add_(more))


def _second_term(squared: Tensor, labels: Tensor, positives: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Mean of [D_ap - D_kl + margin]_+ over the quadruplets, 0-d float64, and its derivative, (N, N)."""
    same = labels[:, None] == labels
    other = (~same).to(squared.dtype)
    positives = positives * same
    others = other.sum(1, dtype=torch.float64)
    total = torch.dot(positives.sum(1, dtype=torch.float64), others.sum() - 2 * others * same.sum(1))
    # Without quadruplets, D_kl and D_lk that differ by rounding must not leave a gradient.
    total = torch.where(total > 0, total, torch.inf)
    if may_look(squared):
        anchors, others = positives.nonzero(as_tuple=True)
        classes, of_row = labels.unique(return_inverse=True)
        if len(classes) * len(anchors) <= len(labels) ** 2:
            below, gradient = _counted(squared, other, anchors, others, of_row, len(classes), margin)
            return _value(squared, below, gradient, margin) / total, gradient.div_(total)
    below, gradient = _sorted(squared, labels, same, positives, other, margin)
    return _value(squared, below, gradient, margin) / total, (gradient / total).to(squared.dtype)


def _value(squared: Tensor, below: Tensor, gradient: Tensor, margin: float) -> Tensor:
    """The sum over quadruplets, 0-d float64: it is linear between the points where a hinge opens."""
    slope = torch.dot(gradient.flatten().double(), squared.flatten().double())
    return slope + margin * below.sum(dtype=torch.float64)


def _counted(
    squared: Tensor, other: Tensor, a: Tensor, p: Tensor, of_row: Tensor, classes: int, margin: float
) -> tuple[Tensor, Tensor]:
    """Pairs (k, l) under each threshold, and the sum's derivative, from a table, classes x thresholds, <= N^2."""
    thresholds, order = (squared[a, p] + margin).sort()
    a, p, count = a[order], p[order], len(order)
    # A pair (k, l) is below the thresholds from its bucket on; its row of the table is k's class.
    bucket = torch.searchsorted(thresholds, squared.contiguous(), right=True)
    place = (of_row[:, None] * (count + 1) + bucket).flatten()
    number = torch.bincount(place, other.flatten(), classes * (count + 1)).view(classes, count + 1).cumsum(1)
    of_class = (of_row[a], torch.arange(count, device=a.device))
    below = number.sum(0)[:count] - 2 * number[of_class]
    later = squared.new_zeros(classes, count + 1)
    later[of_class] = 1
    later = later.flip(1).cumsum(1).flip(1).flatten()[place].view_as(squared)  # thresholds of k's class above D_kl
    # `finish` adds the transpose, so twice the thresholds of k's class replace those of k's and of l's.
    gradient = later.mul_(2).add_(bucket).sub_(count).mul_(other)
    return below, gradient.index_put_((a, p), below.to(gradient.dtype), accumulate=True)


def _sorted(
    squared: Tensor, labels: Tensor, same: Tensor, positives: Tensor, other: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """Pairs (k, l) under each threshold, and the sum's derivative, from one order of all distances and thresholds."""
    n = len(labels)
    places = squared + positives * margin
    keys = sortable(places).mul_(2).add_(~same)
    keys.masked_fill_((positives + other) == 0, torch.iinfo(torch.int64).max)
    order = keys.flatten().argsort()
    below_all, above_all = _running(order, positives, other, None)
    # The same order, by the class of the row: the index of a class is its first place among the sorted labels.
    of_row = torch.searchsorted(labels.sort().values, labels)[:, None].expand(n, n).flatten()
    by_class = order[of_row[order].argsort(stable=True)]
    below_in_class, above_in_class = _running(by_class, positives, other, of_row)
    below = (below_all - 2 * below_in_class).mul_(positives)
    above = (above_all - above_in_class - above_in_class.T).mul_(other)
    return below, below - above


def _running(order: Tensor, positives: Tensor, other: Tensor, group: Tensor | None) -> tuple[Tensor, Tensor]:
    """For each place in the order: how many `other` pairs are below, how many thresholds above: (N, N) float64 both."""
    below = other.flatten()[order].cumsum(0, dtype=torch.float64)
    above = positives.flatten()[order].cumsum(0, dtype=torch.float64)
    if group is None:
        above = above[-1:] - above
    else:
        along = group[order]
        first = torch.searchsorted(along, along)
        last = torch.searchsorted(along, along, right=True) - 1
        above = above[last] - above
        below = below - below[(first - 1).clamp(min=0)] * (first > 0)
    back = (torch.empty_like(r).scatter_(0, order, r).view_as(other) for r in (below, above))
    return tuple(back)  # type: ignore[return-value]
