"""Exact ranking: each query's nearest gallery rows in the order of (distance, index).

A float32 search finds candidates, a few more than needed. Those whose distances float32 cannot tell apart are compared
again in float64; if the last one needed is among them, more are searched, and at last the whole row is ranked.
So the backends agree, and duplicates are in index order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation import _search
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
        """For each of `rows` all indices into the gallery by (distance, index), int64 (b, m)."""
        distances, order = (self(rows) if distances is None else distances).sort(dim=1, stable=True)
        gaps = distances.diff(dim=1)
        doubtful = ((gaps > 0) & (gaps <= self.tolerance)).any(1).nonzero()[:, 0]  # equal ones are in order
        if len(doubtful):
            order[doubtful] = self.settle(rows[doubtful], distances[doubtful], order[doubtful], self.tolerance)
        return order

    def ranks(self, rows: Tensor, distances: Tensor, place: Tensor, inside: Tensor) -> Tensor:
        """Ranks from 0, int64 (b, c), of the gallery indices `place`, by the distances (b, m) of `rows` (b,).

        Undefined if not `inside`, bool (b, c).
        """
        exact = distances.gather(1, place)
        rank, close = _below(distances, exact - self.tolerance, exact + self.tolerance, inside)
        tied = (inside & (close > 1)).any(1).nonzero()[:, 0]
        if len(tied):
            order = self.order(rows[tied], distances[tied])
            ranks = torch.arange(order.shape[1], device=order.device).expand_as(order)
            rank[tied] = torch.empty_like(order).scatter_(1, order, ranks).gather(1, place[tied])
        return rank

    def settle(self, rows: Tensor, distances: Tensor, indices: Tensor, tolerance: float | Tensor) -> Tensor:
        """Sort each run of near ties by (distance from the differences, index), in place.

        rows int64 (b,), distances (b, k) ascending, indices int64 (b, k), tolerance a number or (b, 1) -> `indices`.
        """
        apart = distances.diff(dim=1) > tolerance
        tied = torch.zeros_like(indices, dtype=torch.bool)
        tied[:, 1:] |= ~apart
        tied[:, :-1] |= ~apart
        row, column = (tied & (indices >= 0)).nonzero(as_tuple=True)
        if len(row) == 0:
            return indices
        run = torch.zeros_like(indices)
        run[:, 1:] = apart.cumsum(1)
        candidate = indices[row, column]
        exact = self.vectors.exact(rows[row], self.gallery[candidate])
        keys = (candidate, exact, run[row, column], row)
        order = np.lexsort([key.cpu().numpy() for key in keys])
        indices[row, column] = candidate[torch.from_numpy(order).to(candidate.device)]
        return indices

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


class Hits(NamedTuple):
    """Relevant rows among the nearest of b queries, one entry each, ordered by query and rank."""

    row: np.ndarray  # int64 (h,), the query's place in the block
    rank: np.ndarray  # int64 (h,), from 1
    nth: np.ndarray  # int64 (h,): 1 for a query's first hit, 2 for its second, ...
    positives: np.ndarray  # int64 (b,): all relevant rows in the gallery, found or not

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum values of hits, (h,), for each query: float64 (b,)."""
        return np.bincount(self.row, weights=values, minlength=len(self.positives))


class Relevance:
    """The gallery rows that are relevant to each query, at one level of labels; those of its camera are ignored."""

    def __init__(
        self, labels: np.ndarray, cameras: np.ndarray | None, queries: np.ndarray, gallery: np.ndarray
    ) -> None:
        same = np.zeros(len(queries), dtype=np.int64)
        if cameras is not None:
            pairs = np.unique(labels * (cameras.max() + 1) + cameras, return_inverse=True)[1].reshape(-1)
            same = np.bincount(pairs[gallery], minlength=pairs.max() + 1)[pairs[queries]]
        itself = np.isin(queries, gallery).astype(np.int64)
        members = labels[gallery]
        sizes = np.bincount(members, minlength=int(labels.max()) + 1)
        self.ignored = np.maximum(same, itself)  # (q,); a query in the gallery is among its camera's rows
        self.positives = sizes[labels[queries]] - self.ignored
        self.most = int(self.positives.max(initial=0))
        self._members, self._sizes = torch.from_numpy(np.argsort(members, kind="stable")), torch.from_numpy(sizes)
        self.largest = max(1, int(self._sizes.max()))  # rows of the largest class in the gallery
        self._labels, self._cameras = torch.from_numpy(labels), None if cameras is None else torch.from_numpy(cameras)
        self._queries, self._gallery = torch.from_numpy(queries), torch.from_numpy(gallery)

    def to(self, device: torch.device) -> Relevance:
        """Move the tensors to `device`. Returns self."""
        for name in ("_labels", "_cameras", "_queries", "_gallery", "_members", "_sizes"):
            tensor = getattr(self, name)
            setattr(self, name, None if tensor is None else tensor.to(device))
        return self

    def hits(self, block: slice, order: Tensor) -> Hits:
        """The hits at this level of a block of `Neighbours.blocks`."""
        queries = self._queries[block, None]
        neighbours = self._gallery[order]
        relevant = (self._labels[neighbours] == self._labels[queries]) & (order >= 0)
        ignored = self._is_ignored(queries, neighbours, relevant)
        ranks = torch.arange(1, order.shape[1] + 1, device=order.device) - ignored.cumsum(1)
        return self._hits(block, ranks, relevant & ~ignored)

    def hits_in_all(self, block: slice, ranks: Callable[[Tensor, Tensor], Tensor]) -> Hits:
        """All hits of a block of queries in the whole ranking; `ranks` as of `ExactDistances`, for these queries."""
        queries = self._queries[block, None]
        labels = self._labels[queries]
        column = torch.arange(int(self._sizes[labels].max()), device=queries.device)
        inside = column < self._sizes[labels]
        start = self._sizes.cumsum(0)[labels] - self._sizes[labels]
        place = self._members[(start + column).clamp(max=len(self._members) - 1)]
        rank = ranks(place, inside)
        ignored = self._is_ignored(queries, self._gallery[place], inside)
        last = 2 * len(self._gallery)
        key = torch.where(inside, 2 * rank + ignored, last).sort(dim=1).values
        ignored = (key % 2).bool()
        places = torch.div(key, 2, rounding_mode="floor") + 1 - ignored.cumsum(1)
        return self._hits(block, places, (key < last) & ~ignored)

    def _is_ignored(self, queries: Tensor, neighbours: Tensor, relevant: Tensor) -> Tensor:
        ignored = neighbours == queries
        if self._cameras is not None:
            ignored |= relevant & (self._cameras[neighbours] == self._cameras[queries])
        return ignored

    def _hits(self, block: slice, ranks: Tensor, relevant: Tensor) -> Hits:
        """Hits from ascending ranks (b, c), and bool (b, c) for which of them are relevant."""
        places = relevant.nonzero()
        row = places[:, 0].cpu().numpy()
        rank = ranks[places[:, 0], places[:, 1]].cpu().numpy()
        counts = np.bincount(row, minlength=len(relevant))
        nth = np.arange(1, len(row) + 1) - np.repeat(counts.cumsum() - counts, counts)
        return Hits(row, rank, nth, self.positives[block])


WIDER = 8  # times as many candidates are searched if a tie reaches past the last one
SPARE = 4  # candidates beyond those needed, which show a tie at the boundary
SCAN_FROM = 2048  # neighbours; for as many or more, whole rows are sorted


class Neighbours:
    """Nearest gallery rows of queries, block by block; int64 (q,) and (m,), ascending rows of `vectors`."""

    def __init__(self, vectors: Vectors, queries: Tensor, gallery: Tensor, backend: str = "auto") -> None:
        self.vectors, self.queries, self.gallery, self.backend = vectors, queries, gallery, backend
        _search.choose(backend, vectors.device)
        self._all = len(gallery) == len(vectors)
        self._exact = ExactDistances(vectors, gallery)

    def hits(self, k: int | None, levels: Mapping[str, Relevance]) -> Iterator[tuple[slice, dict[str, Hits]]]:
        """For each block of queries, the relevant rows at each level among at least the k nearest (None: all)."""
        m = len(self.gallery)
        if k is None or k + SPARE >= min(m, SCAN_FROM):
            largest = max((int(level.largest) for level in levels.values()), default=1)
            for block in self._slices(max(1, min(1024, 8 * CHUNK // m, CHUNK // largest))):
                ranks = partial(self._exact.ranks, self.queries[block], self._exact(self.queries[block]))
                yield block, {name: level.hits_in_all(block, ranks) for name, level in levels.items()}
        else:
            for block, order in self.blocks(k):
                yield block, {name: level.hits(block, order) for name, level in levels.items()}

    def blocks(self, k: int) -> Iterator[tuple[slice, Tensor]]:
        """For each block of queries, the places in `gallery` of the k nearest, int64 (b, k)."""
        m = len(self.gallery)
        k = min(k, m)
        if k + SPARE >= min(m, SCAN_FROM):
            for block in self._slices(max(1, CHUNK // m)):
                yield block, self._exact.order(self.queries[block])[:, :k]
            return
        working = self.vectors.working if self._all else self.vectors.working[self.gallery]
        candidates = min(k + SPARE, m)
        squares = self.vectors.squares[self.gallery]
        search = _search.search(working, squares, _search.choose(self.backend, self.vectors.device, candidates))
        for block in self._slices(min(8192, max(64, CHUNK // candidates))):
            yield block, self._nearest(search, self.queries[block], k, candidates)

    def _nearest(self, search: _search.Search, rows: Tensor, k: int, candidates: int) -> Tensor:
        """The gallery indices of the k nearest of each of `rows`, int64 (b, k), among so many candidates."""
        m = len(self.gallery)
        distances, indices = search(self.vectors.working[rows], candidates)
        tolerance = self.vectors.tolerance_within(rows, distances[:, -1])
        # whether the k nearest may include one that the search did not return
        doubtful = ~(distances[:, k - 1 :].diff(dim=1) > tolerance).any(1)
        clear, unclear = (~doubtful).nonzero()[:, 0], doubtful.nonzero()[:, 0]
        indices[clear] = self._exact.settle(rows[clear], distances[clear], indices[clear], tolerance[clear])
        wider = WIDER * candidates
        search_again = wider < min(m, SCAN_FROM)
        size = max(64, CHUNK // wider) if search_again else max(16, CHUNK // m)
        for part in unclear.split(size) if len(unclear) else ():
            again = self._nearest(search, rows[part], k, wider) if search_again else self._exact.order(rows[part])
            indices[part, :k] = again[:, :k]
        return indices[:, :k]

    def _slices(self, size: int) -> Iterator[slice]:
        return (slice(start, start + size) for start in range(0, len(self.queries), size))
