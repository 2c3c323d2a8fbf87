"""The sum of [d_ap - d_an + margin]_+ over triplets, with its gradient, in O(N^2) memory.

- **Sort**, O(N^2 log N): for each anchor, the thresholds d_ap + margin and the distances of negatives are sorted
  together; running counts and sums give what each costs. A triplet that costs exactly 0 is not active.
- **Sweep**, O(pairs N): each positive pair is compared with a row of distances, about ten times as fast if classes are
  small. It needs the list of positive pairs, so it serves CPUs, for up to `SWEEP` positives an anchor.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dml.losses._forms import may_look

SWEEP = 32  # mean number of positives an anchor up to which the sweep is faster than the sort on a CPU
BLOCK = 1 << 20  # minimum number of entries of a block: large enough to keep a device busy


def all_triplets(
    distances: Tensor, positives: Tensor, negatives: Tensor, margin: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over all triplets of distances (N, N) or (N, M), number of active ones, and the sum's derivative."""
    if may_look(distances):
        anchors, others = positives.nonzero(as_tuple=True)
        if len(anchors) <= SWEEP * len(distances):
            return _sweep(distances, negatives, margin, anchors, others)
    return _sort(distances, positives, negatives, margin)


def listed_gaps(distances: Tensor, a: Tensor, p: Tensor, n: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of each listed triple d_ap - d_an + margin, and where both distances are in the flat matrix: (T,) each."""
    flat, size = distances.reshape(-1), len(distances)
    to_positive, to_negative = a * size + p, a * size + n
    return flat[to_positive] - flat[to_negative] + margin, to_positive, to_negative


def listed_triplets(
    distances: Tensor, a: Tensor, p: Tensor, n: Tensor, valid: Tensor, margin: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sum over listed triples, number of active ones, number of triples, and the sum's derivative."""
    gap, to_positive, to_negative = listed_gaps(distances, a, p, n, margin)
    cost = gap.relu_().mul_(valid)
    hit = cost.sign()
    gradient = torch.zeros_like(distances)
    gradient.view(-1).index_add_(0, to_positive, hit).index_add_(0, to_negative, hit, alpha=-1)
    count = hit.sum(dtype=torch.float64)
    return cost.sum(), count, valid.sum(dtype=torch.float64), gradient


def _sweep(
    distances: Tensor, negatives: Tensor, margin: float, anchors: Tensor, others: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    n = max(distances.shape[1], 1)
    gradient = torch.zeros_like(distances)
    value = distances.new_zeros(())
    active = torch.zeros((), dtype=torch.float64, device=distances.device)
    blocked = (1 - negatives).mul_(1e30)  # added to other rows than negatives: too far to matter
    to_anchor = distances + blocked
    step = max(n, BLOCK // n)
    for start in range(0, len(anchors), step):
        a, p = anchors[start : start + step], others[start : start + step]
        row = to_anchor[a]
        threshold = (distances[a, p] + margin)[:, None]
        cost = torch.relu_(row.neg_().add_(threshold))
        value += cost.sum()
        hit = cost.sign_()
        count = hit.sum(1)
        active += count.sum(dtype=torch.float64)
        gradient.view(-1).index_add_(0, a * n + p, count)
        gradient.index_add_(0, a, hit, alpha=-1)
    return value, active, gradient


def _sort(distances: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    n = max(distances.shape[1], 1)
    value = distances.new_zeros(())
    active = torch.zeros((), dtype=torch.float64, device=distances.device)
    gradients = []
    step = max(BLOCK // n, 1)
    for start in range(0, len(distances), step):
        rows = slice(start, start + step)
        here, positive, negative = distances[rows], positives[rows], negatives[rows]
        places = (here + positive * margin).clamp_(min=0)
        keys = sortable(places).mul_(2).add_(negative.to(torch.int64))
        keys.masked_fill_((positive + negative) == 0, torch.iinfo(torch.int64).max)
        order = keys.argsort(1)
        places, positive, negative = (t.gather(1, order) for t in (places, positive, negative))
        nearer = negative.cumsum(1)  # negatives below this place
        summed = (negative * places).cumsum(1)
        value += (positive * (nearer * places - summed)).sum()
        count = positive * nearer
        active += count.sum(dtype=torch.float64)
        beyond = positive.sum(1, keepdim=True) - positive.cumsum(1)  # thresholds above this place
        gradients.append(torch.zeros_like(here).scatter_(1, order, count - negative * beyond))
    return value, active, torch.cat(gradients) if gradients else torch.zeros_like(distances)


def sortable(values: Tensor) -> Tensor:
    """Integers in the order of the non-negative floats `values`, with room to be doubled."""
    if values.dtype == torch.float64:
        return values.view(torch.int64) - (1 << 62)
    return values.view(torch.int32).to(torch.int64)
