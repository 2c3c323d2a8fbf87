"""A block of queries: candidates from the index, ranked again by exact distances, and the metrics' values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from dml import files
from dml.evaluation.compressed.index import Index, IndexJob
from dml.evaluation.compressed.rows import Rows
from dml.evaluation.relevance import Hits
from dml.protocols import RetrievalMetric

NUMBERS = 1 << 23  # float64 numbers in a temporary array


@dataclass(frozen=True)
class SearchJob:
    """What a process needs to work on one block of queries; it pickles."""

    index: IndexJob
    folder: Path
    queries: np.ndarray | None  # int64 (q,), ascending; None: all rows
    levels: Mapping[str, Path]  # of each level of labels the codes, int32 (n,), as a .npy file
    metrics: Mapping[str, RetrievalMetric]

    @property
    def count(self) -> int:
        """Queries."""
        return len(self.index.rows) if self.queries is None else len(self.queries)

    @property
    def blocks(self) -> list[slice]:
        """The queries of each block."""
        size = self.index.plan.block
        return [slice(start, min(start + size, self.count)) for start in range(0, self.count, size)]

    def rows_of(self, block: slice) -> np.ndarray:
        """The rows of a block's queries, int64 (b,)."""
        return np.arange(block.start, block.stop) if self.queries is None else self.queries[block]

    def block_file(self, number: int) -> Path:
        """The values of a block."""
        return self.folder / f"block-{number:06d}.npy"


def search_block(job: SearchJob, number: int) -> None:
    """Write the values of a block, float64 (levels, metrics, b), unless they are there."""
    path = job.block_file(number)
    if path.is_file():
        return
    queries = job.rows_of(job.blocks[number])
    found = values_of(job, queries, neighbours(_opened(job.index), job.index.rows, queries))
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        np.save(file, found)


def neighbours(index: Index, rows: Rows, queries: np.ndarray) -> np.ndarray:
    """The candidates of each query by exact (distance, row): int64 (b, candidates), -1 at the end."""
    return ranked(rows, queries, index.candidates(rows.read(queries)))


def ranked(rows: Rows, queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Sort candidates, int64 (b, c), by (distance, row). Distances are float64, from the vectors as they are stored."""
    out = np.sort(candidates, axis=1)
    step = max(1, NUMBERS // (out.shape[1] * rows.shape[1]))
    for start in range(0, len(out), step):
        part = out[start : start + step]
        there = rows.read(np.maximum(part, 0).reshape(-1), np.float64).reshape(*part.shape, -1)
        there -= rows.read(queries[start : start + step], np.float64)[:, None]
        distances = np.einsum("ijk,ijk->ij", there, there)
        distances[part < 0] = np.inf
        order = np.argsort(distances, axis=1, kind="stable")
        out[start : start + step] = np.take_along_axis(part, order, axis=1)
    return out


def values_of(job: SearchJob, queries: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The metrics' values, float64 (levels, metrics, b), of queries (b,) whose nearest rows are `found` (b, c).

    NaN for a query without a relevant row. A query does not find itself.
    """
    out = np.empty((len(job.levels), len(job.metrics), len(queries)))
    itself = found == queries[:, None]
    ranks = np.arange(1, found.shape[1] + 1) - itself.cumsum(1)
    for at, path in enumerate(job.levels.values()):
        codes = np.load(path, mmap_mode="r")
        own = codes[queries]
        right = (codes[np.maximum(found, 0)] == own[:, None]) & (found >= 0) & ~itself
        positives = _sizes(path)[own] - 1
        row, column = right.nonzero()
        first = np.r_[0, np.bincount(row, minlength=len(queries)).cumsum()[:-1]]
        hits = Hits(row, ranks[row, column], np.arange(1, len(row) + 1) - first[row], positives)
        for place, metric in enumerate(job.metrics.values()):
            out[at, place] = np.where(positives > 0, metric(hits), np.nan)
    return out


@lru_cache(maxsize=4)
def _sizes(path: Path) -> np.ndarray:
    """Rows of each class, int64 (K,)."""
    codes = np.load(path, mmap_mode="r")
    sizes = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    for start in range(0, len(codes), 1 << 22):
        sizes += np.bincount(codes[start : start + (1 << 22)], minlength=len(sizes))
    return sizes


@lru_cache(maxsize=1)
def _opened(job: IndexJob) -> Index:
    """The index, opened once in a process."""
    return Index(job)
