"""Float64 distances from some rows to the whole gallery, and their order: what decides where float32 cannot."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from dml.evaluation._vectors import CHUNK, Vectors

KEPT = 1 << 26  # a gallery of at most so many numbers is kept in float64


class ExactDistances:
    """Squared distances to a gallery, in float64, by matrix products around an origin near the points.

    Parameters
    ----------
    vectors : the embeddings.
    gallery : int64 (m,), rows of `vectors`, ascending.
    """

    def __init__(self, vectors: Vectors, gallery: Tensor) -> None:
        self.vectors, self.gallery = vectors, gallery
        self._copies: tuple[Tensor, Tensor] | None = None
        self._kept: list[tuple[Tensor, Tensor]] = []

    def __call__(self, rows: Tensor) -> Tensor:
        """Squared distances, float64 (b, m), of rows of `vectors` to the gallery; duplicates have the same bits."""
        queries = self.vectors.double(rows) - self.vectors.origin
        own = queries.square().sum(1, keepdim=True)
        out = torch.empty(len(rows), len(self.gallery), dtype=torch.float64, device=self.vectors.device)
        start = 0
        for part, squares in self._tiles():
            stop = start + len(part)
            out[:, start:stop] = torch.addmm(own + squares, queries, part.T, alpha=-2.0)
            start = stop
        if self._copies is None:
            self._copies = self._find_copies()
        copies, originals = self._copies
        if len(copies):
            out[:, copies] = out[:, originals]
        return out

    def _tiles(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The gallery about the origin, float64 (t, D), and its squared norms (t,), piece by piece."""
        if self._kept:
            yield from self._kept
            return
        dimension = self.vectors.given.shape[1]
        keep = len(self.gallery) * dimension <= KEPT
        for rows in self.gallery.split(max(256, CHUNK // dimension)):
            part = self.vectors.double(rows) - self.vectors.origin
            tile = part, part.square().sum(1)
            if keep:
                self._kept.append(tile)
            yield tile

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


def in_order(distances: Tensor) -> Tensor:
    """Each row sorted, float64 (b, m). NumPy sorts values alone several times faster than torch does on a CPU."""
    if distances.device.type != "cpu":
        return distances.sort(dim=1).values
    ordered = distances.clone()
    parts = [part.numpy() for part in ordered.chunk(torch.get_num_threads())]
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda part: part.sort(axis=1), parts))
    return ordered
