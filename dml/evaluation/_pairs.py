"""How many pairs of rows are how far apart: counted once for all metrics of pairs, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._retrieval import camera_codes, rows_of
from dml.evaluation._vectors import Vectors

CHUNK = 1 << 22  # pairs in one block
DROPPED = 10  # bits of a float32's 23 after the point: steps are 1/8192 of a squared distance
BINS = 1 << (31 - DROPPED)


class PairCounts(NamedTuple):
    """Pairs by distance, nearest first: int64 (BINS,) each."""

    positive: np.ndarray  # of one class
    negative: np.ndarray  # of two classes


def pair_counts(
    vectors: Vectors, levels: Mapping[str, np.ndarray], queries: Any, gallery: Any, cameras: Any
) -> dict[str, PairCounts]:
    """The pairs of a query and a gallery row at each level of labels; the arguments are those of `evaluate`.

    Without masks each pair of two rows counts once. Rows that a query ignores (its class and camera) are in no pair.
    """
    n, device = len(vectors), vectors.device
    once = queries is None and gallery is None
    asking, searched = (
        torch.from_numpy(rows_of(m, n, name)).to(device) for m, name in ((queries, "queries"), (gallery, "gallery"))
    )
    points = _points(vectors)
    left, right = (points, points) if once else (points[asking], points[searched])
    known = {level: torch.from_numpy(labels).to(device) for level, labels in levels.items()}
    camera = None if cameras is None else torch.from_numpy(camera_codes(cameras, n)).to(device)
    total = torch.zeros(BINS, dtype=torch.int64, device=device)
    same = {level: torch.zeros_like(total) for level in levels}  # of one class, also those that a query ignores
    taken = same if camera is None else {level: torch.zeros_like(total) for level in levels}

    def count(rows: slice, columns: slice) -> None:
        place, a, b = _steps(left[rows], right[columns]), asking[rows, None], searched[columns]
        valid = b > a if once else b != a
        total.add_(torch.bincount(place[valid], minlength=BINS))
        for level, labels in known.items():
            pairs = valid & (labels[a] == labels[b])
            same[level].add_(torch.bincount(place[pairs], minlength=BINS))
            if camera is not None:
                pairs &= camera[a] != camera[b]
                taken[level].add_(torch.bincount(place[pairs], minlength=BINS))

    step = max(1, CHUNK // len(searched))
    for start in range(0, len(asking), step):
        count(slice(start, start + step), slice(start if once else 0, None))
    return {level: PairCounts(taken[level].cpu().numpy(), (total - same[level]).cpu().numpy()) for level in levels}


def _points(vectors: Vectors) -> Tensor:
    """float64 (n, D), centred, so that near points stay apart, and at most about 1, so that nothing overflows.

    They are scaled by a power of two, which leaves the steps of distance as they are.
    """
    points = vectors.double(slice(None))  # maybe the caller's own memory
    points = points * 2.0 ** -points.abs().max().clamp(min=1e-300).log2().ceil()
    return points.sub_(points.mean(0))


def _steps(rows: Tensor, columns: Tensor) -> Tensor:
    """int32 (r, c): squared distances in steps that grow with them, the first bits of a float32."""
    sums = rows.square().sum(1)[:, None] + columns.square().sum(1)
    squared = torch.addmm(sums, rows, columns.T, alpha=-2)
    rounding = 2 * rows.shape[1] * torch.finfo(torch.float64).eps
    squared.masked_fill_(squared < rounding * sums, 0.0)  # duplicates
    return squared.float().view(torch.int32).bitwise_right_shift_(DROPPED)
