"""The compressed index: an inverted file of product-quantised residuals (IVF-PQ), trained on a sample, on disk.

Jegou, Douze, Schmid: Product quantization for nearest neighbor search, PAMI 2011. The files are faiss's own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dml import files
from dml.evaluation._search import has_faiss
from dml.evaluation.compressed.plan import STEP, Plan
from dml.evaluation.compressed.rows import Rows
from dml.seeding import derive, numpy_generator

ITERATIONS = 10  # of the k-means that trains the lists
TRAINED, MERGED, LISTS = "trained.faiss", "index.faiss", "index.lists"


@dataclass(frozen=True)
class IndexJob:
    """What the functions here need to work on one shard; it pickles."""

    rows: Rows
    plan: Plan
    folder: Path
    seed: int

    @property
    def shards(self) -> list[slice]:
        """The rows of each shard."""
        return self.rows.slices(self.plan.shard)

    def shard_file(self, number: int) -> Path:
        """The index of a shard's rows."""
        return self.folder / f"shard-{self.plan.shard}-{number:05d}.faiss"

    @property
    def done(self) -> bool:
        """Whether the index is complete."""
        return (self.folder / MERGED).is_file()


def train(job: IndexJob) -> None:
    """Learn lists and codes from a random sample of the rows, unless they are there."""
    if job.done or (job.folder / TRAINED).is_file():
        return
    faiss, plan = _faiss(), job.plan
    index = faiss.IndexIVFPQ(faiss.IndexFlatL2(plan.padded), plan.padded, plan.lists, plan.code, 8)
    index.use_precomputed_table = -1  # not while training
    for parameters in (index.cp, index.pq.cp):
        parameters.seed = derive(job.seed, "compressed index") % (1 << 31)
        parameters.niter, parameters.min_points_per_centroid = ITERATIONS, 1
    draw = numpy_generator(job.seed, "compressed index")
    sample = np.unique(draw.integers(len(job.rows), size=plan.trained_on))
    index.train(padded(job.rows.read(sample), plan))
    _write(index, job.folder / TRAINED)


def add_shard(job: IndexJob, number: int) -> None:
    """Compress the rows of a shard, unless that is done."""
    path = job.shard_file(number)
    if job.done or path.is_file():
        return
    faiss = _faiss()
    index = faiss.read_index(str(job.folder / TRAINED), faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)
    rows = job.shards[number]
    for start in range(rows.start, rows.stop, STEP):
        part = slice(start, min(start + STEP, rows.stop))
        index.add_with_ids(padded(job.rows.read(part), job.plan), np.arange(part.start, part.stop))
    _write(index, path)


def merge(job: IndexJob) -> None:
    """Merge the shards into one index whose lists are mapped from the disk, and delete them."""
    if job.done:
        return
    faiss = _faiss()
    from faiss.contrib.ondisk import merge_ondisk

    (job.folder / LISTS).unlink(missing_ok=True)  # left by a process that was killed
    paths = [job.shard_file(number) for number in range(len(job.shards))]
    index = faiss.read_index(str(job.folder / TRAINED), faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE)
    merge_ondisk(index, [str(path) for path in paths], str(job.folder / LISTS))
    _write(index, job.folder / MERGED)
    for path in (*paths, job.folder / TRAINED):
        path.unlink()


class Index:
    """An index that is complete, opened to search."""

    def __init__(self, job: IndexJob) -> None:
        faiss, self.plan = _faiss(), job.plan
        flags = faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_SKIP_PRECOMPUTE_TABLE
        self._index = faiss.read_index(str(job.folder / MERGED), flags)
        if job.plan.table:
            self._index.use_precomputed_table = 1
            self._index.precompute_table()
        self._index.nprobe = job.plan.probes

    def candidates(self, queries: np.ndarray) -> np.ndarray:
        """Rows that are probably near, int64 (b, candidates), -1 where there are fewer. `queries`: float32 (b, D)."""
        return self._index.search(padded(queries, self.plan), self.plan.candidates)[1]


def padded(vectors: np.ndarray, plan: Plan) -> np.ndarray:
    """Vectors (b, D) with zeros up to (b, plan.padded)."""
    more = plan.padded - vectors.shape[1]
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, more))) if more else vectors)


def _write(index: Any, path: Path) -> None:
    with files.replacing(path) as temporary:
        _faiss().write_index(index, os.fspath(temporary))


def _faiss() -> Any:
    if not has_faiss():
        raise ValueError("a compressed search needs faiss (pip install faiss-cpu)")
    import faiss

    return faiss
