"""Float64 distances to the whole gallery, and their order, for what float32 cannot decide.

They are matrix products; distances that differ by less than its error are computed again from the vectors' differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._vectors import CHUNK, Vectors

KEPT = 1 << 26  # numbers in a gallery; a larger one is not kept in float64


class ExactDistances:
    """Order of a gallery int64 (m,) by float64 distance, as matrix products around an origin near the points."""

    def __init__(self, vectors: Vectors, gallery: Tensor) -> None:
        self.vectors, self.gallery = vectors, gallery
        self._copies: tuple[Tensor, Tensor] | None = None
        self._kept: Tensor | None = None
        self._space: Tensor | None = None

    def __call__(self, rows: Tensor) -> Tensor:
        """Squared distances from rows of `vectors` to the gallery, minus the row's own squared norm: float64 (b, m)."""
        queries = self.vectors.double(rows) - self.vectors.origin
        queries = torch.cat([-2 * queries, torch.ones_like(queries[:, :1])], 1)
        out = self._array(len(rows))
        if self._kept is not None:
            _product(queries, self._kept, out)
        else:
            start = 0
            for part in self._parts():
                _product(queries, part, out[:, start : start + len(part)])
                start += len(part)
        if self._copies is None:
            self._copies = self._find_copies()
        copies, originals = self._copies
        if len(copies):
            out[:, copies] = out[:, originals]
        return out

    @cached_property
    def tolerance(self) -> float:
        """Two of these distances that differ by more than this are in the true order. See `Vectors.tolerance`."""
        vectors = self.vectors
        step = max(1, CHUNK // vectors.given.shape[1])
        parts = (slice(start, start + step) for start in range(0, len(vectors), step))
        largest = max(float((vectors.double(part) - vectors.origin).square().sum(1).max()) for part in parts)
        return 16.0 * 2.0**-53 * (vectors.given.shape[1] ** 0.5 + 4) * largest

    def order(self, rows: Tensor, distances: Tensor | None = None) -> Tensor:
        """For each of `rows` all places in the gallery by (distance, index), int64 (b, m)."""
        distances, order = (self(rows) if distances is None else distances).sort(dim=1, stable=True)
        gaps = distances.diff(dim=1)
        doubtful = ((gaps > 0) & (gaps <= self.tolerance)).any(1).nonzero()[:, 0]  # equal ones are in order
        if len(doubtful):
            order[doubtful] = self.settle(rows[doubtful], distances[doubtful], order[doubtful], self.tolerance)
        return order

    def settle(self, rows: Tensor, distances: Tensor, found: Tensor, tolerance: float | Tensor) -> Tensor:
        """Sort each run of near ties by (distance from the differences, index), in place.

        rows int64 (b,), distances (b, k) ascending, found int64 (b, k), tolerance a number or (b, 1) -> `found`.
        """
        apart = distances.diff(dim=1) > tolerance
        tied = torch.zeros_like(found, dtype=torch.bool)
        tied[:, 1:] |= ~apart
        tied[:, :-1] |= ~apart
        row, column = (tied & (found >= 0)).nonzero(as_tuple=True)
        if len(row) == 0:
            return found
        run = torch.zeros_like(found)
        run[:, 1:] = apart.cumsum(1)
        candidate = found[row, column]
        exact = self.vectors.exact(rows[row], self.gallery[candidate])
        keys = (candidate, exact, run[row, column], row)
        order = np.lexsort([key.cpu().numpy() for key in keys])
        found[row, column] = candidate[torch.from_numpy(order).to(candidate.device)]
        return found

    def _array(self, rows: int) -> Tensor:
        """Working space (rows, m), used again: fresh memory costs as much as the arithmetic on it."""
        if self._space is None or len(self._space) < rows:
            self._space = torch.empty(rows, len(self.gallery), dtype=torch.float64, device=self.vectors.device)
        return self._space[:rows]

    def _parts(self) -> Iterator[Tensor]:
        """The gallery minus the origin, with its squared norms as a last column: float64 (t, D + 1), piece by piece."""
        dimension = self.vectors.given.shape[1]
        keep = len(self.gallery) * dimension <= KEPT
        parts = []
        for rows in self.gallery.split(max(256, CHUNK // dimension)):
            part = self.vectors.double(rows) - self.vectors.origin
            part = torch.cat([part, part.square().sum(1, keepdim=True)], 1)
            if keep:
                parts.append(part)
            yield part
        if keep:
            self._kept = torch.cat(parts)

    def _find_copies(self) -> tuple[Tensor, Tensor]:
        """Places in the gallery that repeat an earlier place, and these earlier places, int64 (c,) each."""
        dimension = self.vectors.given.shape[1]
        weights = torch.cos(torch.arange(1, dimension + 1, dtype=torch.float64, device=self.vectors.device))
        step = max(1, CHUNK // dimension)
        sums = [(self.vectors.double(part) * weights).sum(1) for part in self.gallery.split(step)]
        total, order = torch.cat(sums).sort(stable=True)
        alike = (total.diff() == 0).nonzero()[:, 0]
        same = torch.zeros(len(order), dtype=torch.bool, device=total.device)
        for part in alike.split(step):
            left, right = (self.vectors.double(self.gallery[order[part + shift]]) for shift in (0, 1))
            same[part + 1] = (left == right).all(1)
        places = torch.arange(len(order), device=total.device)
        first = torch.where(same, 0, places).cummax(0).values
        return order[same], order[first[same]]


def _product(queries: Tensor, gallery: Tensor, out: Tensor) -> None:
    """`queries @ gallery.T` into `out`. On a CPU by NumPy's BLAS, which is faster than MKL on some processors."""
    if out.device.type == "cpu":
        np.matmul(queries.numpy(), gallery.numpy().T, out=out.numpy())
    else:
        torch.mm(queries, gallery.T, out=out)


class Ranks:
    """Ranks of gallery rows for a block of queries. `rows` int64 (b,)."""

    def __init__(self, distances: ExactDistances, rows: Tensor) -> None:
        self._source, self._rows, self._distances = distances, rows, distances(rows)

    def __call__(self, place: Tensor, inside: Tensor) -> Tensor:
        """Ranks from 0 of `place`, int64 (b, c) places in the gallery; undefined if not `inside`, bool (b, c)."""
        own, tolerance = self._distances.gather(1, place), self._source.tolerance
        rank, close = _below(self._distances, own - tolerance, own + tolerance, inside)
        tied = (inside & (close > 1)).any(1).nonzero()[:, 0]
        if len(tied):
            order = self._source.order(self._rows[tied], self._distances[tied])
            ranks = torch.arange(order.shape[1], device=order.device).expand_as(order)
            rank[tied] = torch.empty_like(order).scatter_(1, order, ranks).gather(1, place[tied])
        return rank


def _below(distances: Tensor, low: Tensor, high: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Count each row's distances (b, m) below `low` (b, c), and those in `low..high`: int64 (b, c) each."""
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
