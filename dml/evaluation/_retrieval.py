"""Retrieval metrics for each query, from neighbours found once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dml.arrays import host_array
from dml.evaluation._vectors import Vectors, codes
from dml.evaluation.ranking import Neighbours
from dml.evaluation.relevance import Relevance
from dml.protocols import RetrievalMetric

SAMPLE = 1000  # queries on which an approximate search is compared with the exact one


class Retrieval:
    """Queries and a gallery among the embeddings, and what is relevant at each level.

    Parameters
    ----------
    vectors : n embeddings.
    levels : labels of each level as codes from 0, int64 (n,).
    queries, gallery : bool (n,) or None for all.
    cameras : integers (n,) or None; negative ones are unknown.
    backend, approximate, seed : of the search.

    Raises
    ------
    ValueError : masks or cameras of another type or shape, or a mask without rows.
    """

    def __init__(
        self,
        vectors: Vectors,
        levels: Mapping[str, np.ndarray],
        queries: Any,
        gallery: Any,
        cameras: Any,
        backend: str,
        approximate: bool,
        seed: int,
    ) -> None:
        n = len(vectors)
        self.queries, rows = rows_of(queries, n, "queries"), rows_of(gallery, n, "gallery")
        known = None if cameras is None else camera_codes(cameras, n)
        self.relevance = {level: Relevance(labels, known, self.queries, rows) for level, labels in levels.items()}
        asking, searched = (torch.from_numpy(chosen).to(vectors.device) for chosen in (self.queries, rows))
        self._neighbours = Neighbours(vectors, asking, searched, backend, approximate, seed)

    def values(self, metrics: Mapping[str, RetrievalMetric]) -> dict[str, dict[str, np.ndarray]]:
        """At each level each metric's value for each query, float64 (q,); NaN for a query without a relevant row.

        Raises
        ------
        ValueError : an approximate search, and a metric that needs the whole ranking.
        """
        depth = self.depth(metrics)
        if depth is None and self._neighbours.approximate:
            whole = ", ".join(name for name, part in metrics.items() if part.depth(1) is None)
            raise ValueError(f"approximate: {whole} needs the whole ranking; leave one of the two out")
        out = {level: {name: np.empty(len(self.queries)) for name in metrics} for level in self.relevance}
        placed = {level: right.to(self._neighbours.vectors.device) for level, right in self.relevance.items()}
        for block, hits in self._neighbours.hits(depth, placed):
            for level in placed:
                for name, part in metrics.items():
                    out[level][name][block] = part(hits[level])
        for level, right in self.relevance.items():
            for values in out[level].values():
                values[right.positives == 0] = np.nan
        return out

    def depth(self, metrics: Mapping[str, RetrievalMetric]) -> int | None:
        """Neighbours needed for all metrics and levels, including the rows that a level ignores; None: all."""
        needed = [1]
        for right in self.relevance.values():
            depths = [depth for part in metrics.values() if (depth := part.depth(right.most)) is not None]
            if len(depths) < len(metrics):
                return None
            needed.append(max(depths, default=0) + int(right.ignored.max(initial=0)))
        return max(needed)

    def found_share(self, k: int) -> float:
        """The share of the k exact neighbours of some queries, without themselves, that an approximate search finds."""
        exact = self._neighbours
        draw = torch.Generator().manual_seed(exact.seed)
        some = torch.randperm(len(exact.queries), generator=draw)[:SAMPLE].sort().values
        rows = exact.queries[some.to(exact.queries.device)]
        found = []
        for approximate in (False, True):
            search = Neighbours(exact.vectors, rows, exact.gallery, exact.backend, approximate, exact.seed)
            found.append(torch.cat([order for _, order in search.blocks(k)]).cpu().numpy())
        own = torch.searchsorted(exact.gallery, rows).cpu().numpy()
        at = exact.gallery.cpu().numpy()[np.minimum(own, len(exact.gallery) - 1)]
        own = np.where(at == rows.cpu().numpy(), own, -1)  # the query's own place, if the gallery contains it
        shares = [np.isin(a[a != i], b).mean() for a, b, i in zip(*found, own, strict=True) if (a != i).any()]
        return float(np.mean(shares)) if shares else np.nan


def camera_codes(cameras: Any, n: int) -> np.ndarray:
    """Codes of cameras, int64 (n,); each unknown one (negative) is a camera of its own."""
    known = codes(cameras, n, "cameras")
    return np.where(host_array(cameras, "cameras") < 0, known.max() + 1 + np.arange(n), known)


def rows_of(mask: Any, n: int, what: str) -> np.ndarray:
    """The rows of a bool mask (n,), int64; all rows if it is None."""
    if mask is None:
        return np.arange(n)
    array = host_array(mask, what)
    if array.dtype != bool or array.shape != (n,):
        raise ValueError(f"{what}: expected bool ({n},), got {array.dtype} {array.shape}")
    if not array.any():
        raise ValueError(f"{what}: expected at least one row, got none")
    return array.nonzero()[0]
