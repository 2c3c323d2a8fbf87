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
    asking, searched = (
        torch.from_numpy(rows_of(m, n, name)).to(device) for m, name in ((queries, "queries"), (gallery, "gallery"))
    )
    known = {level: torch.from_numpy(labels).to(device) for level, labels in levels.items()}
    camera = None if cameras is None else torch.from_numpy(camera_codes(cameras, n)).to(device)
    total = torch.zeros(BINS, dtype=torch.int64, device=device)
    same = {level: torch.zeros_like(total) for level in levels}  # of one class, also those that a query ignores
    taken = {level: torch.zeros_like(total) for level in levels}

    def count(rows: Tensor, columns: Tensor, times: int) -> None:
        """Pairs of a row with itself are in the first bin, of one class."""
        place = _steps(vectors, rows, columns)
        total.add_(torch.bincount(place.view(-1), minlength=BINS), alpha=times)
        for level, labels in known.items():
            pairs = labels[rows, None] == labels[columns]
            same[level].add_(torch.bincount(place[pairs], minlength=BINS), alpha=times)
            if camera is not None:
                pairs &= camera[rows, None] != camera[columns]
                taken[level].add_(torch.bincount(place[pairs], minlength=BINS), alpha=times)

    step = max(1, CHUNK // len(searched))
    once = queries is None and gallery is None
    for start in range(0, len(asking), step):
        rows = asking[start : start + step]
        if once:  # within the block both (i, j) and (j, i) are there
            count(rows, rows, 1)
            count(rows, searched[start + step :], 2)
        else:
            count(rows, searched, 2)
    itself = len(asking) if once else 2 * int(torch.isin(asking, searched).sum())
    found = {}
    for level in levels:
        positive = same[level].clone() if camera is None else taken[level]
        if camera is None:
            positive[0] -= itself
        found[level] = PairCounts(*((each // 2).cpu().numpy() for each in (positive, total - same[level])))
    return found


def _steps(vectors: Vectors, rows: Tensor, columns: Tensor) -> Tensor:
    """int32 (r, c): squared distances in steps that grow with them, the first bits of a float32."""
    squared = vectors.working[rows] @ vectors.working[columns].T
    squared.mul_(-2).add_(vectors.squares[rows, None]).add_(vectors.squares[columns])
    squared.masked_fill_(squared < vectors.tolerance, 0.0)  # duplicates, but for rounding
    squared.masked_fill_(rows[:, None] == columns, 0.0)
    return squared.view(torch.int32).bitwise_right_shift_(DROPPED)
