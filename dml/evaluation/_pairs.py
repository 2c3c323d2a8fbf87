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
    once = queries is None and gallery is None
    known = {level: torch.from_numpy(labels).to(device) for level, labels in levels.items()}
    camera = None if cameras is None else torch.from_numpy(camera_codes(cameras, n)).to(device)
    total = torch.zeros(BINS, dtype=torch.int64, device=device)
    same = {level: torch.zeros_like(total) for level in levels}  # of one class, also those that a query ignores
    taken = {level: torch.zeros_like(total) for level in levels}
    step = max(1, CHUNK // len(searched))
    for start in range(0, len(asking), step):
        rows, columns = asking[start : start + step, None], searched[start:] if once else searched
        place = _steps(vectors, rows[:, 0], columns)
        valid = columns > rows if once else columns != rows
        total += torch.bincount(place[valid], minlength=BINS)
        for level, labels in known.items():
            pairs = valid & (labels[columns] == labels[rows])
            same[level] += torch.bincount(place[pairs], minlength=BINS)
            if camera is not None:
                pairs &= camera[columns] != camera[rows]
            taken[level] += torch.bincount(place[pairs], minlength=BINS)
    return {level: PairCounts(taken[level].cpu().numpy(), (total - same[level]).cpu().numpy()) for level in levels}


def _steps(vectors: Vectors, rows: Tensor, columns: Tensor) -> Tensor:
    """int32 (r, c): squared distances in steps that grow with them, the first bits of a float32."""
    products = vectors.working[rows] @ vectors.working[columns].T
    squared = vectors.squares[rows, None] + vectors.squares[columns] - 2 * products
    squared[squared < vectors.tolerance] = 0.0  # duplicates, but for rounding
    return squared.view(torch.int32) >> DROPPED
