"""The sum of [d_ap - d_an + margin]_+ over all triplets of a batch, with its gradient, without listing the triplets.

Two exact ways, chosen by the device, O(N^2) memory both:

- **Sort.** Per anchor, the thresholds d_ap + margin of its positives and the distances of its negatives are sorted
  together; running counts and sums then give for each positive how many negatives lie below its threshold and what
  they sum to, and for each negative how many thresholds lie above it. O(N^2 log N), whatever the classes. Keys are
  integers (a float's bits, then the kind), so that a tie puts the positive first: a triplet that costs exactly 0 is
  not active.
- **Sweep.** Each positive pair is held against a whole row of distances: O(pairs N), with plain vectorised arithmetic
  in place of a sort, some ten times faster where classes are small. It needs the list of positive pairs, whose length
  only the host can know without waiting for a device: so it serves CPUs, for up to `SWEEP` positives an anchor.

With the anchor swap the cost is max([t - d_an]_+, [t - d_pn]_+) for t = d_ap + margin: it hangs on the pair (p, n) as
well, no one order of the negatives serves all positives of an anchor, and the sweep is used everywhere. On a device
it goes over all N^2 pairs of rows, in blocks, the invalid ones with weight 0: O(N^3) time there, still O(N^2) memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

SWEEP = 32  # positives an anchor, on average, up to which the sweep beats the sort on a CPU
BLOCK = 1 << 20  # entries of one block at least: large enough to keep a device busy


def all_triplets(
    distances: Tensor, positives: Tensor, negatives: Tensor, margin: float, swap: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over all triplets, number of active ones, and the sum's derivative.

    distances, positives, negatives (N, N), the masks 0 and 1 -> (0-d, 0-d float64, (N, N)).
    """
    n = len(distances)
    if may_look(distances):
        anchors, others = positives.nonzero(as_tuple=True)
        if swap or len(anchors) <= SWEEP * n:
            weights = distances.new_ones(len(anchors))
            return _sweep(distances, negatives, margin, swap, anchors, others, weights)
    if swap:
        index = torch.arange(n * n, device=distances.device)
        return _sweep(distances, negatives, margin, swap, index // n, index % n, positives.flatten())
    return _sort(distances, positives, negatives, margin)


def may_look(tensor: Tensor) -> bool:
    """Whether a number in the tensor can decide what is computed next: it is at hand, and no graph is being traced."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def listed_triplets(
    distances: Tensor, a: Tensor, p: Tensor, n: Tensor, valid: Tensor, margin: float, swap: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sum over listed triples, number of active ones, number of triples, and the sum's derivative.

    distances (N, N); a, p, n int64 (T,); valid bool (T,), False for padding -> (0-d, 0-d float64, 0-d float64, (N, N)).
    """
    flat, size = distances.view(-1), len(distances)
    to_negative = a * size + n
    if swap:
        swapped = p * size + n
        to_negative = torch.where(flat[swapped] < flat[to_negative], swapped, to_negative)
    cost = torch.relu_(flat[a * size + p] - flat[to_negative] + margin).mul_(valid)
    hit = cost.sign()
    gradient = torch.zeros_like(flat).index_add_(0, a * size + p, hit).index_add_(0, to_negative, hit, alpha=-1)
    count = hit.sum(dtype=torch.float64)
    return cost.sum(), count, valid.sum(dtype=torch.float64), gradient.view_as(distances)


def _sweep(
    distances: Tensor, negatives: Tensor, margin: float, swap: bool, anchors: Tensor, others: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    n = max(len(distances), 1)
    gradient = torch.zeros_like(distances)
    value = distances.new_zeros(())
    active = torch.zeros((), dtype=torch.float64, device=distances.device)
    blocked = (1 - negatives).mul_(1e30)  # added to what is no negative, it makes it too far to matter
    to_anchor = distances + blocked
    step = max(n, BLOCK // n)
    for start in range(0, len(anchors), step):
        a, p, w = (t[start : start + step] for t in (anchors, others, weights))
        row = to_anchor[a]
        threshold = (distances[a, p] + margin)[:, None]
        nearer = None
        if swap:
            to_positive = distances[p] + blocked[a]
            nearer = (to_positive < row).to(row.dtype)
            row = torch.minimum(row, to_positive)
        cost = torch.relu_(row.neg_().add_(threshold)).mul_(w[:, None])
        value += cost.sum()
        hit = cost.sign_()
        count = hit.sum(1)
        active += count.sum(dtype=torch.float64)
        gradient.view(-1).index_add_(0, a * n + p, count)
        if nearer is not None:
            from_positive = nearer.mul_(hit)
            gradient.index_add_(0, p, from_positive, alpha=-1)
            hit.sub_(from_positive)
        gradient.index_add_(0, a, hit, alpha=-1)
    return value, active, gradient


def _sort(distances: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    n = max(len(distances), 1)
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
