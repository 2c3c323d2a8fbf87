"""Which rows are in which shard: ordered by class, then cut where a shard is full, between classes if possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

TABLE = "shards.parquet"


@dataclass(frozen=True)
class Layout:
    """Shards as runs of places. A place is a row's number in the order of the classes.

    `starts` : int64 (s + 1,), the first place of each shard, and the number of rows.
    """

    starts: np.ndarray

    @property
    def count(self) -> int:
        """Shards."""
        return len(self.starts) - 1

    def rows(self, shard: int) -> int:
        """Rows of a shard."""
        return int(self.starts[shard + 1] - self.starts[shard])

    def name(self, shard: int) -> str:
        """The file of a shard."""
        return f"{shard:06d}.npy"


def plan_layout(sizes: np.ndarray, row_bytes: int, shard_bytes: int) -> Layout:
    """Plan shards of at most `shard_bytes`.

    A class that fits into a shard is in one shard; a larger one is divided.

    Parameters
    ----------
    sizes : int64 (K,), rows of each class, in the order of the classes.
    row_bytes : of one row.

    Raises
    ------
    ValueError : a row is larger than a shard.
    """
    most = shard_bytes // row_bytes
    if most < 1:
        raise ValueError(f"shards: a row has {row_bytes} bytes: expected a size of at least as many, got {shard_bytes}")
    starts, ends = [0], np.cumsum(sizes)
    while starts[-1] < ends[-1]:
        fitting = int(np.searchsorted(ends, starts[-1] + most, "right"))  # classes that end in this shard or before it
        if fitting and ends[fitting - 1] > starts[-1]:
            starts.append(int(ends[fitting - 1]))
        else:  # not even one class fits
            starts += [*range(starts[-1] + most, int(ends[fitting]), most), int(ends[fitting])]
    return Layout(np.array(starts, dtype=np.int64))


@dataclass(frozen=True)
class ShardTable:
    """What `shards.parquet` says of all shards, some 100 bytes of memory each.

    `names`, `digests` (SHA-256), `sizes` (bytes), `rows` : of the files.
    `shape` : (H, W, C) of a row.
    `storage` : the folder or URI of the files.
    """

    storage: str
    names: list[str]
    digests: list[str]
    sizes: list[int]
    rows: list[int]
    shape: tuple[int, ...]
    kind: np.dtype

    @classmethod
    def read(cls, folder: Path, storage: str, shape: tuple[int, ...], kind: str) -> ShardTable:
        """The table in `folder`. `shape` is (H, W, C)."""
        table = pq.read_table(folder / TABLE)
        names, digests, sizes, rows = (table[name].to_pylist() for name in ("name", "digest", "bytes", "rows"))
        return cls(storage, names, digests, sizes, rows, shape, np.dtype(kind))

    @cached_property
    def most(self) -> int:
        """Rows of the largest shard."""
        return max(self.rows)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return math.prod(self.shape) * self.kind.itemsize
