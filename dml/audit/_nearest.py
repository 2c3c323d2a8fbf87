"""The nearest vectors by cosine, tile by tile: unit vectors of all images would take as much memory as the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dml.evaluation import _search

CHUNK = 1 << 21  # numbers in one temporary array
EXACT_UP_TO = 200_000  # rows; for more, faiss searches an inverted file if it is installed
LISTS = 4  # times the root of the rows: lists of the inverted file,
PER_LIST = 50  # vectors that place its centre,
SEARCHED = (8, 64)  # and lists that are searched: a sixteenth of them, but at least and at most these


class Nearest(NamedTuple):
    """Of a block of rows, the nearest ones, the nearest first."""

    queries: Tensor  # int64 (b,)
    found: Tensor  # int64 (b, k), rows; -1 where an approximate search found fewer. Most queries find themselves first
    cosine: Tensor  # float32 (b, k)


# unit vectors (b, D), k -> cosines, descending, and places in `rows`: (b, k) each
Search = Callable[[Tensor, int], tuple[Tensor, Tensor]]


def nearest(vectors: Tensor, rows: Tensor, k: int, seed: int = 0, queries: Tensor | None = None) -> Iterator[Nearest]:
    """The k nearest of some rows among these rows, block by block. Near ties are in the order of float32 rounding.

    Parameters
    ----------
    vectors : float32 (n, D). A zero vector has the cosine 0 to all.
    rows : int64 (m,), ascending.
    k : at most m.
    seed : of the inverted file.
    queries : int64 (q,), the rows whose nearest are searched; None: all of `rows`.
    """
    step = min(len(rows), max(1, CHUNK // max(vectors.shape[1], k)))
    inverted = len(rows) > EXACT_UP_TO and _search.has_faiss()
    search = _inverted(vectors, rows, step, seed) if inverted else _tiles(vectors, rows, step)
    space = vectors.new_empty(step, vectors.shape[1])
    for asked in (rows if queries is None else queries).split(step):
        cosine, place = search(unit(vectors, asked, space), k)
        yield Nearest(asked, torch.where(place >= 0, rows[place.clamp(min=0)], -1), cosine)


def unit(vectors: Tensor, rows: Tensor, space: Tensor) -> Tensor:
    """Some rows, int64 (b,), divided by their length, in `space` (at least b, D); a zero vector stays zero.

    Fresh arrays of this size for each tile would leave the heap in pieces.
    """
    part = torch.index_select(vectors, 0, rows, out=space[: len(rows)])
    return part.div_(torch.linalg.vector_norm(part, dim=1, keepdim=True).clamp(min=1e-30))


def _tiles(vectors: Tensor, rows: Tensor, step: int) -> Search:
    """All rows are compared, a tile at a time."""
    space = vectors.new_empty(step, vectors.shape[1])

    def search(queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        best = torch.empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
        squares = queries.square().sum(1, keepdim=True)
        for start in range(0, len(rows), step):
            tile = unit(vectors, rows[start : start + step], space)
            most = min(k, len(tile))
            backend = _search.choose("auto", tile.device, most)
            distance, place = _search.search(tile, tile.new_ones(len(tile)), backend, unit=True)(queries, most)
            cosine = torch.cat([best[0], (squares + 1 - distance) / 2], 1)
            order = cosine.sort(dim=1, descending=True, stable=True).indices[:, :k]
            best = cosine.gather(1, order), torch.cat([best[1], place + start], 1).gather(1, order)
        return best

    return search


def _inverted(vectors: Tensor, rows: Tensor, step: int, seed: int) -> Search:
    """Only the rows of some lists are compared: those whose centres are nearest."""
    import faiss

    count = int(LISTS * len(rows) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], count, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = seed % (1 << 31)
    sample = rows[torch.arange(size := min(len(rows), PER_LIST * count)) * len(rows) // size]
    index.train(unit(vectors, sample, vectors.new_empty(len(sample), vectors.shape[1])).numpy())
    space = vectors.new_empty(step, vectors.shape[1])
    for part in rows.split(step):
        index.add(unit(vectors, part, space).numpy())
    index.nprobe = min(max(count // 16, SEARCHED[0]), SEARCHED[1])

    def search(queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        cosine, place = index.search(queries.numpy(), k)
        return torch.from_numpy(cosine), torch.from_numpy(place)

    return search
