"""Who is near whom, exactly: each query's nearest gallery rows in the order of (distance, index).

Candidates come from a float32 search (`_search.py`), a few more than asked for. Where two neighbours in that order are
nearer to each other in distance than float32 can tell, both distances are computed again in float64 from the vectors as
given, and ties are broken by index. Where the doubt reaches past the last candidate, the row is ranked as a whole in
float64. So the backends agree, and duplicates (whose float64 distances are the same bits) stand in index order, however
many. What is left to rounding: points that are no duplicates and whose distances agree to about 15 digits.

Approximate search (an inverted file) skips the second and third step for what it did not find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation import _search
from dml.evaluation._vectors import CHUNK, Vectors

SPARE = 8  # candidates beyond those asked for, so that a tie at the boundary is seen
SCAN_FROM = 2048  # from this many neighbours on, whole rows are sorted


class Hits(NamedTuple):
    """Where a block of b queries finds its own class: one entry for each relevant row among the nearest, in order."""

    row: np.ndarray  # int64 (h,), the query's place in the block, ascending
    rank: np.ndarray  # int64 (h,), from 1, ascending within a query
    nth: np.ndarray  # int64 (h,): 1 for a query's first hit, 2 for its second, ...
    positives: np.ndarray  # int64 (b,): the relevant rows in the gallery, found or not

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Values of hits, (h,), summed per query: float64 (b,)."""
        return np.bincount(self.row, weights=values, minlength=len(self.positives))


class Neighbours:
    """Nearest gallery rows of queries, block by block.

    Parameters
    ----------
    vectors : the embeddings.
    queries, gallery : int64 (q,) and (m,), rows of `vectors`, ascending.
    backend : `auto`, `faiss` or `torch`.
    approximate : search an inverted file instead of all rows.
    """

    def __init__(
        self,
        vectors: Vectors,
        queries: Tensor,
        gallery: Tensor,
        backend: str = "auto",
        approximate: bool = False,
        seed: int = 0,
    ) -> None:
        self.vectors, self.queries, self.gallery = vectors, queries, gallery
        self.backend, self.approximate, self.seed = backend, approximate, seed
        _search.choose(backend, vectors.device)
        self._all = len(gallery) == len(vectors)
        self._copies: tuple[Tensor, Tensor] | None = None

    def blocks(self, k: int | None) -> Iterator[tuple[slice, Tensor]]:
        """For each block of queries the places in `gallery` of its k nearest (None: of all), int64 (b, k).

        The query itself is among them. Places are -1 where an approximate search found fewer.
        """
        m = len(self.gallery)
        wanted = m if k is None else min(k, m)
        whole = wanted + SPARE >= min(m, SCAN_FROM)
        if whole and not self.approximate:
            for block in self._slices(max(1, CHUNK // m)):
                yield block, self._scan(self.queries[block], wanted)
            return
        working = self.vectors.working if self._all else self.vectors.working[self.gallery]
        asked = min(wanted + SPARE, m)
        if self.approximate:
            search = _search.approximate(working, self.seed)
        else:
            squares = self.vectors.squares[self.gallery]
            search = _search.search(working, squares, _search.choose(self.backend, self.vectors.device, asked))
        for block in self._slices(min(8192, max(64, CHUNK // asked))):
            rows = self.queries[block]
            distances, found = search(self.vectors.working[rows], asked)
            found = self._in_order(rows, distances, found)
            if not self.approximate and asked < m:
                doubtful = self._doubtful(distances, wanted)
                step = max(1, CHUNK // m)
                for part in (doubtful[start : start + step] for start in range(0, len(doubtful), step)):
                    found[part, :wanted] = self._scan(rows[part], wanted)
            yield block, found[:, :wanted]

    def _slices(self, size: int) -> Iterator[slice]:
        return (slice(start, start + size) for start in range(0, len(self.queries), size))

    def _in_order(self, rows: Tensor, distances: Tensor, found: Tensor) -> Tensor:
        """`found` with each run of near ties sorted by (float64 distance, index)."""
        apart = distances.diff(dim=1) > self.vectors.tolerance
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

    def _doubtful(self, distances: Tensor, wanted: int) -> Tensor:
        """Rows, int64, whose first `wanted` candidates may lack one that was not found."""
        clear = (distances[:, wanted - 1 :].diff(dim=1) > self.vectors.tolerance).any(1)
        return (~clear).nonzero()[:, 0]

    def _scan(self, rows: Tensor, k: int) -> Tensor:
        """The k nearest of each of `rows` among the whole gallery, by (float64 distance, index)."""
        return self.distances(rows).sort(dim=1, stable=True).indices[:, :k]

    def distances(self, rows: Tensor) -> Tensor:
        """Squared distances, float64 (b, m), of rows of `vectors` to the gallery; duplicates have the same bits."""
        origin = self.vectors.origin
        queries = self.vectors.double(rows) - origin
        own = queries.square().sum(1, keepdim=True)
        out = torch.empty(len(rows), len(self.gallery), dtype=torch.float64, device=self.vectors.device)
        step = max(256, CHUNK // queries.shape[1])
        for start in range(0, len(self.gallery), step):
            part = self.vectors.double(self.gallery[start : start + step]) - origin
            out[:, start : start + step] = torch.addmm(own + part.square().sum(1), queries, part.T, alpha=-2.0)
        if self._copies is None:
            self._copies = self._find_copies()
        copies, originals = self._copies
        if len(copies):
            out[:, copies] = out[:, originals]
        return out

    def _find_copies(self) -> tuple[Tensor, Tensor]:
        """Places in the gallery that repeat an earlier one, and the earlier ones, int64 (c,) each."""
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


class Relevance:
    """Which gallery rows are right for a query, at one level of labels.

    Parameters
    ----------
    labels : int64 (n,).
    cameras : int64 (n,) or None: gallery rows of the query's class AND camera count neither as right nor as wrong.
    queries, gallery : int64 (q,) and (m,).
    """

    def __init__(
        self, labels: np.ndarray, cameras: np.ndarray | None, queries: np.ndarray, gallery: np.ndarray
    ) -> None:
        same = np.zeros(len(queries), dtype=np.int64)
        if cameras is not None:
            pairs = labels * (cameras.max() + 1) + cameras
            same = _counts(pairs[gallery])(pairs[queries])
        itself = np.isin(queries, gallery).astype(np.int64)
        self.ignored = np.maximum(same, itself)  # (q,): a query in the gallery is one of its camera's rows
        self.positives = _counts(labels[gallery])(labels[queries]) - self.ignored
        self.most = int(self.positives.max(initial=0))
        self._labels, self._cameras = torch.from_numpy(labels), None if cameras is None else torch.from_numpy(cameras)
        self._queries, self._gallery = torch.from_numpy(queries), torch.from_numpy(gallery)

    def to(self, device: torch.device) -> Relevance:
        """Itself, with what it compares on `device`."""
        self._labels, self._queries, self._gallery = (
            t.to(device) for t in (self._labels, self._queries, self._gallery)
        )
        self._cameras = None if self._cameras is None else self._cameras.to(device)
        return self

    def hits(self, block: slice, order: Tensor) -> Hits:
        """What a block of `Neighbours.blocks` found, as hits of this level."""
        queries = self._queries[block, None]
        neighbours = self._gallery[order]
        relevant = self._labels[neighbours] == self._labels[queries]
        junk = neighbours == queries
        if self._cameras is not None:
            junk |= relevant & (self._cameras[neighbours] == self._cameras[queries])
        relevant &= ~junk & (order >= 0)
        ranks = torch.arange(1, order.shape[1] + 1, device=order.device) - junk.cumsum(1)
        places = relevant.nonzero()
        row = places[:, 0].cpu().numpy()
        rank = ranks[places[:, 0], places[:, 1]].cpu().numpy()
        found = np.bincount(row, minlength=len(queries))
        nth = np.arange(1, len(row) + 1) - np.repeat(found.cumsum() - found, found)
        return Hits(row, rank, nth, self.positives[block])


def _counts(values: np.ndarray):  # type: ignore[no-untyped-def]
    """A function from values to how often each is among `values`."""
    table = np.bincount(values)

    def count(asked: np.ndarray) -> np.ndarray:
        return np.where(asked < len(table), table[np.minimum(asked, len(table) - 1)], 0)

    return count
