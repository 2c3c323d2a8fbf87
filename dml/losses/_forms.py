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
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dml.tensors import check_dense, check_mask, checked_labels, checked_rows, may_look, unit_rows
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


def among_references(labels: Tensor, ref_labels: Tensor, tuples: Form) -> Form:
    """Tuples of anchors (N,) with references (M,) as tuples of both in one; without tuples, all pairs of the two."""
    n = len(labels)
    if tuples is None:
        same = labels[:, None] == ref_labels
        (a, p), (b, q) = same.nonzero(as_tuple=True), (~same).nonzero(as_tuple=True)
        tuples = a, p, b, q
    if len(tuples) == 3:
        return Tuples(*(rows + n * (rows >= 0) * (column > 0) for column, rows in enumerate(tuples)))
    if len(tuples) != 4:
        raise ValueError(f"tuples: expected 3 or 4 lists of rows with references, got {len(tuples)} items")
    a, p, b, q = tuples
    return a, p + n, b, q + n


def divisor(reduction: str, total: Tensor, active: Tensor) -> Tensor:
    """What the sum over the tuples is divided by, at least 1. `total`, `active`: 0-d counts of tuples."""
    if reduction == "sum":
        return torch.ones_like(total)
    return (total if reduction == "mean" else active).clamp(min=1)


def _counts(rows: Tensor, columns: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    valid = rows >= 0
    flat = (rows * n + columns).mul_(valid)  # padding adds 0 to the first place
    return torch.zeros(n * n, dtype=dtype, device=rows.device).index_add_(0, flat, valid.to(dtype)).view(n, n)


__all__ = ["DISTANCES", "REDUCTIONS", "check_classes", "check_size", "checked_labels", "may_look"]

REDUCTIONS = ("mean", "nonzero", "sum")
DISTANCES = ("euclidean", "squared")


def check_size(embeddings: Tensor, embedding_size: int) -> None:
    """Raise a ValueError unless embeddings (N, D) have the size that a loss was built for."""
    if embeddings.shape[1] != embedding_size:
        size, shape = embedding_size, tuple(embeddings.shape)
        raise ValueError(f"embeddings: expected (N, {size}) (embedding_size={size}), got {shape}")


def check_classes(labels: Tensor, num_classes: int) -> None:
    """Raise a ValueError unless labels int64 (N,) are 0 .. num_classes - 1. Other devices' labels are not read."""
    if len(labels) and may_look(labels):
        low, high = labels.min().item(), labels.max().item()  # a fourth of the time of `aminmax` and `int`
        if low < 0 or high >= num_classes:
            got = low if low < 0 else high
            raise ValueError(f"labels: expected 0 to {num_classes - 1} (num_classes={num_classes}), got {got}")


FAR = 256  # centre the rows if their centre's squared length is this many times their squared distance from it


def full_precision(embeddings: Tensor) -> Tensor:
    """Half precision becomes float32; other types stay."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        rows, inverse = unit_rows(x)
        ctx.save_for_backward(rows, inverse)
        return rows

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        rows, inverse = ctx.saved_tensors
        along = (upstream * rows).sum(1, keepdim=True)
        return torch.addcmul(upstream, rows, along, value=-1).mul_(inverse)


def unit(x: Tensor) -> Tensor:
    """Rows (N, D) divided by their length, at any scale, differentiable. A zero row stays zero; its gradient is 0."""
    return _Unit.apply(x)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        with torch.autocast(x.device.type, enabled=False):
            return x @ w.mT

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            return upstream @ w, upstream.mT @ x


def products(x: Tensor, w: Tensor) -> Tensor:
    """x @ w^T of rows (..., N, D) and (..., M, D), in their own precision under autocast, forward and backward."""
    return _Products.apply(x, w)


def zero(embeddings: Tensor) -> Tensor:
    """0, attached to the embeddings: the loss of an empty batch. NaN if an entry is NaN or infinite."""
    return (0 * full_precision(embeddings)).sum()


def unless_finite(x: Tensor) -> Tensor:
    """0, or NaN if an entry of x is NaN or infinite: 0-d, without a graph. Large entries do not overflow."""
    return (0 * x.detach()).sum()


def prepared(embeddings: Tensor, normalize: bool) -> Tensor:
    """Embeddings (N, D) in float32 at least, as unit rows if `normalize`; differentiable."""
    x = full_precision(embeddings)
    return unit(x) if normalize else x


def positions(embeddings: Tensor, normalize: bool) -> Tensor:
    """Like `prepared`, for losses of distances only: rows far from the origin are moved to it."""
    x = prepared(embeddings, normalize)
    return x if normalize else x - offset(x.detach())


def offset(x: Tensor) -> Tensor:
    """A centre (D,) of rows (N, D) if it is far from 0 compared with the rows' distances from it, else 0."""
    apart = (x - x.sum(0) / max(len(x), 1)).square().sum(1)
    scale = apart.sum() / max(len(x), 1) + torch.finfo(x.dtype).tiny
    weights = scale / (apart + 0.1 * scale)  # outliers must neither move the centre nor widen the spread
    weights = weights / weights.sum()
    centre = (weights[:, None] * x).sum(0)
    spread = (weights * (x - centre).square().sum(1)).sum()
    return torch.where(centre.square().sum() > FAR * spread, centre, 0)


def safe_root(squared: Tensor) -> Tensor:
    """The square root, with slope 0 at 0; differentiable."""
    zero = squared <= 0
    return torch.sqrt(squared + zero) * ~zero
