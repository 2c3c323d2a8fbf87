"""`images[rows]` from shards, as from the packed array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dml.data.shards.cache import ShardCache
from dml.data.shards.layout import ShardTable

PLACES = "rows.npy"


class ShardedImages:
    """The rows of a packed dataset, uint8 (N, H, W, C) or float (N, 1, 1, D), read from shards.

    The table of the shards is in memory, the place of each row is mapped. No row is in memory.

    Parameters
    ----------
    folder : with `rows.npy`, int64 (N,): shard * (rows of the largest shard) + the row's number in its shard.
    table : of the shards.
    cache : None: the storage is a local folder, whose files are mapped where they are.
    """

    ndim = 4

    def __init__(self, folder: Path, table: ShardTable, cache: ShardCache | None = None) -> None:
        self.table, self.cache = table, cache
        self.shape, self.dtype = (sum(table.rows), *table.shape), table.kind
        self._places = np.asarray(np.load(folder / PLACES, mmap_mode="r"))  # a view: indexing a memmap is slow
        self._read = self._from_files if cache is None else cache.read
        self._files: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """`rows`: an int -> (H, W, C); a slice, a list or an array of ints or bools -> (n, H, W, C)."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        if rows.ndim == 0:
            return self[rows[None]][0]
        if len(rows) == 0:
            return np.empty((0, *self.shape[1:]), self.dtype)
        try:
            places = self._places.take(rows)
        except IndexError:
            raise IndexError(f"rows: expected 0 to {len(self) - 1}, got {rows.min()} to {rows.max()}") from None
        return self._read(places)

    def _from_files(self, places: np.ndarray) -> np.ndarray:
        shard, inside = np.divmod(places, self.table.most)
        out = np.empty((len(places), *self.shape[1:]), self.dtype)
        for number in np.unique(shard).tolist():
            if number not in self._files:
                path = Path(self.table.storage) / self.table.names[number]
                self._files[number] = np.asarray(np.load(path, mmap_mode="r"))
            chosen = shard == number
            out[chosen] = self._files[number][inside[chosen]]
        return out
