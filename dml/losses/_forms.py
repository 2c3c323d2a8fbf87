"""The forms in which a loss takes its tuples.

| form | contents | how often a pair counts |
|---|---|---|
| `None` | every valid tuple of the batch | once |
| `Pairs`, or 2 bool (N, N) tensors | the pairs kept; of triples, all (a, p, n) with (a, p) and (a, n) kept | once |
| 4 int tensors (a1, p, a2, n) | lists of pairs, as the miners of pytorch-metric-learning return | as often as listed |
| `Tuples`, or 3 int tensors (a, p, n) | triples; rows of -1 are padding | once a triple |

Pairs are ordered, anchor first. A loss that is a *mean over pairs* (contrastive, margin, binomial deviance) counts a
pair as often as the form says, like pytorch-metric-learning: if a miner draws a negative twice, it counts twice, which
distance-weighted sampling relies on. A loss over *sets* of pairs (multi-similarity, lifted structure, histogram, the
second term of quadruplet) counts each pair once. So for losses over sets or triples, all forms give the same value. For
means over pairs, the triples of `all` x `all` count a positive pair once per negative of its anchor, and `Pairs` once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dml.tensors import check_dense, check_mask, checked_rows
from dml.types import Pairs, Tuples

Form = Tuples | Pairs | Sequence[Tensor] | None


def is_triples(tuples: Form) -> bool:
    """Whether the form lists triples; otherwise it describes pairs. Raises a ValueError for anything else."""
    if tuples is None:
        return False
    listed = isinstance(tuples, Sequence | Tensor)
    if not listed or len(tuples) not in (2, 3, 4):
        raise ValueError(
            "tuples: expected None, Tuples (anchors, positives, negatives), Pairs (positives, negatives) or "
            f"4 tensors (a1, p, a2, n); got {f'{len(tuples)} items' if listed else type(tuples).__name__}"
        )
    for item in tuples:
        if not isinstance(item, Tensor):
            raise ValueError(f"tuples: expected items of type torch.Tensor, got {type(item).__name__}")
        check_dense("tuples", item)
    return len(tuples) == 3


def triples(labels: Tensor, tuples: Form) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Anchors, positives, negatives, int64 (T,), and which rows are not padding, bool (T,). Padding points at row 0."""
    assert tuples is not None
    anchors, positives, negatives = checked_rows(len(labels), labels.device, *tuples)
    valid = anchors >= 0
    return anchors.clamp(min=0), positives.clamp(min=0), negatives.clamp(min=0), valid


def list_triples(labels: Tensor, tuples: Form) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Like `triples`, for any form: masks become lists, which waits for the device."""
    if is_triples(tuples):
        return triples(labels, tuples)
    positives, negatives = pair_masks(labels, tuples, torch.float32)
    a, p = positives.nonzero(as_tuple=True)
    row, n = negatives[a].nonzero(as_tuple=True)
    return a[row], p[row], n, torch.ones_like(n, dtype=torch.bool)


def pair_weights(labels: Tensor, tuples: Form, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """How often each ordered positive and each ordered negative pair counts: two new (N, N) tensors of `dtype`."""
    n = len(labels)
    is_triples(tuples)
    if tuples is None:
        positives = (labels[:, None] == labels).to(dtype)
        negatives = 1 - positives
        return positives.fill_diagonal_(0), negatives
    if len(tuples) == 2:
        for name, mask in zip(("positives", "negatives"), tuples, strict=True):
            check_mask(f"tuples: {name}", mask, n, n)
        return tuples[0].to(labels.device, dtype, copy=True), tuples[1].to(labels.device, dtype, copy=True)
    if len(tuples) == 3:
        a, p, q = checked_rows(n, labels.device, *tuples)
        return _counts(a, p, n, dtype), _counts(a, q, n, dtype)
    a, p = checked_rows(n, labels.device, *tuples[:2])
    b, q = checked_rows(n, labels.device, *tuples[2:])
    return _counts(a, p, n, dtype), _counts(b, q, n, dtype)


def pair_masks(labels: Tensor, tuples: Form, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Which ordered positive and negative pairs are given: two new (N, N) tensors of 0 and 1."""
    positives, negatives = pair_weights(labels, tuples, dtype)
    if tuples is not None and len(tuples) > 2:
        return positives.clamp_(max=1), negatives.clamp_(max=1)
    return positives, negatives


def divisor(reduction: str, total: Tensor, active: Tensor) -> Tensor:
    """What the sum over the tuples is divided by, at least 1. `total`, `active`: 0-d counts of tuples."""
    if reduction == "sum":
        return torch.ones_like(total)
    return (total if reduction == "mean" else active).clamp(min=1)


def _counts(rows: Tensor, columns: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    valid = rows >= 0
    flat = (rows * n + columns).mul_(valid)  # padding adds 0 to the first place
    return torch.zeros(n * n, dtype=dtype, device=rows.device).index_add_(0, flat, valid.to(dtype)).view(n, n)
