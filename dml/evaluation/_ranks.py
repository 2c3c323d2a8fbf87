"""Ranks of a few gallery rows among all, without sorting the whole gallery: the number of smaller distances.

If queries have few relevant rows, float32 comes first: a rank is certain if no other distance is within the tolerance;
otherwise the rows within it are compared by their exact distances. If that would be more work, the distances are
float64 products. Then only rows with distances that a product cannot tell apart are sorted as a whole.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._exact import ExactDistances

CLOSE_MOST = 1000  # rows within the tolerance of a query; to compare more costs more than float64 products


class Ranks:
    """Ranks of gallery rows for a block of queries.

    Parameters
    ----------
    distances : to the gallery.
    rows : int64 (b,), the queries' rows.
    quick : try float32 first.
    """

    def __init__(self, distances: ExactDistances, rows: Tensor, quick: bool) -> None:
        self._source, self._rows = distances, rows
        self._measure(quick)

    def _measure(self, quick: bool) -> None:
        self._quick = quick
        self._distances = self._source.quick(self._rows) if quick else self._source(self._rows)

    def __call__(self, place: Tensor, inside: Tensor) -> Tensor:
        """Ranks from 0 of `place`, int64 (b, c) places in the gallery; undefined if not `inside`, bool (b, c)."""
        own = self._distances.gather(1, place)
        if self._quick:
            tolerance = self._source.vectors.tolerance
            low, high = own - tolerance, own + tolerance
            rank, close = _below(self._distances, low, high, inside)
            close *= inside
            if int(close.sum()) <= CLOSE_MOST * len(rank):
                doubtful = (close > 1).nonzero()
                if len(doubtful):
                    rank[doubtful[:, 0], doubtful[:, 1]] += self._nearer(place, doubtful, low, high)
                return rank
            self._measure(quick=False)
            own = self._distances.gather(1, place)
        tolerance = self._source.tolerance
        rank, close = _below(self._distances, own - tolerance, own + tolerance, inside)
        tied = (inside & (close > 1)).any(1).nonzero()[:, 0]
        if len(tied):
            order = self._source.order(self._rows[tied], self._distances[tied])
            ranks = torch.arange(order.shape[1], device=order.device).expand_as(order)
            rank[tied] = torch.empty_like(order).scatter_(1, order, ranks).gather(1, place[tied])
        return rank

    def _nearer(self, place: Tensor, doubtful: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """For each doubtful (row, column), int64 (t, 2), the number of rows within the tolerance that are nearer."""
        row, column = doubtful[:, 0], doubtful[:, 1]
        one, bounds = place[row, column], torch.stack([low[row, column], high[row, column]], 1).cpu().numpy()
        table = self._distances.cpu().numpy()
        near = [
            np.flatnonzero((table[r] >= least) & (table[r] <= most))
            for r, (least, most) in zip(row.tolist(), bounds, strict=True)
        ]
        sizes = torch.tensor([len(found) for found in near], device=row.device)
        other = torch.from_numpy(np.concatenate(near)).to(row.device)
        asking = torch.arange(len(row), device=row.device).repeat_interleave(sizes)
        vectors, gallery, queries = self._source.vectors, self._source.gallery, self._rows[row]
        own = vectors.exact(queries, gallery[one])[asking]
        theirs = vectors.exact(queries[asking], gallery[other])
        before = (theirs < own) | ((theirs == own) & (other < one[asking]))
        return torch.zeros_like(row).index_add_(0, asking, before.long())


def _below(distances: Tensor, low: Tensor, high: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Count each row's distances (b, m) below `low` (b, c), and those in `low..high`: int64 (b, c) each.

    Counts that are not `inside` are undefined. On a CPU only the distances up to the last bound are sorted, by NumPy,
    which sorts values without their indices several times faster than torch.
    """
    if distances.device.type != "cpu":
        ordered = distances.sort(dim=1).values
        below = torch.searchsorted(ordered, low)
        return below, torch.searchsorted(ordered, high, right=True) - below
    table, first, last, counted = (tensor.numpy() for tensor in (distances, low, high, inside))
    bounds = np.where(counted, last, -np.inf).max(1, initial=-np.inf)
    out = np.zeros((2, *first.shape), dtype=np.int64)

    def count(rows: range) -> None:
        for r in rows:
            kept = table[r][table[r] <= bounds[r]]
            kept.sort()
            out[0, r] = kept.searchsorted(first[r])
            out[1, r] = kept.searchsorted(last[r], "right")

    threads = torch.get_num_threads()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(count, [range(start, len(table), threads) for start in range(threads)]))
    return torch.from_numpy(out[0]), torch.from_numpy(out[1] - out[0])
