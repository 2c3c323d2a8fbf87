"""`images[rows]` from shards, as from the packed array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dml.data.shards.cache import ShardCache

TABLE, PLACES = "shards.parquet", "places.npy"


class ShardedImages:
    """The rows of a packed dataset, uint8 (N, H, W, C) or float (N, 1, 1, D), read from shards.

    The table of the shards is in memory (some 100 bytes a shard), the place of each row is mapped. No row is.

    Parameters
    ----------
    folder : with `shards.parquet`, and `places.npy` unless rows are in the order of their classes.
    shape : (N, H, W, C).
    kind : of the numbers.
    storage : the folder or URI of the shards.
    cache : None: the storage is a local folder, whose files are mapped where they are.
    """

    ndim = 4

    def __init__(
        self, folder: Path, shape: tuple[int, ...], kind: np.dtype, storage: str, cache: ShardCache | None = None
    ) -> None:
        table = pq.read_table(folder / TABLE)
        self.shape, self.dtype, self.folder, self.storage, self.cache = shape, np.dtype(kind), folder, storage, cache
        self.names, self.digests = table["name"].to_pylist(), table["digest"].to_pylist()
        self._sizes, starts = table["bytes"].to_pylist(), table["start"].to_numpy()
        self.starts = np.append(starts, shape[0])
        places = folder / PLACES
        self._places = np.asarray(np.load(places, mmap_mode="r")) if places.is_file() else None
        self._direct: dict[int, np.ndarray] = {}

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
        if rows.min() < 0:
            rows = np.where(rows < 0, rows + len(self), rows)
        if rows.min() < 0 or rows.max() >= len(self):
            raise IndexError(f"rows: expected 0 to {len(self) - 1}, got {rows.min()} to {rows.max()}")
        return self.at(rows if self._places is None else self._places[rows])

    def at(self, places: np.ndarray) -> np.ndarray:
        """The rows at places, int64 (b,): their numbers in the order of the classes."""
        shard = self.starts.searchsorted(places, "right") - 1
        order = np.argsort(shard, kind="stable")
        shard, inside = shard[order], places[order]
        inside -= self.starts[shard]
        cuts = [*(np.flatnonzero(shard[1:] != shard[:-1]) + 1).tolist(), len(places)]
        found, start = np.empty((len(places), *self.shape[1:]), self.dtype), 0
        for number, stop in zip(shard[np.array(cuts) - 1].tolist(), cuts, strict=True):
            # places are inside the shard, and without a check NumPy writes to `out` directly
            self._shard(number).take(inside[start:stop], 0, found[start:stop], "clip")
            start = stop
        out = np.empty_like(found)
        out[order] = found
        return out

    def _shard(self, number: int) -> np.ndarray:
        if self.cache is not None:
            return self.cache.get(self.storage, self.names[number], self.digests[number], self._sizes[number])
        if number not in self._direct:
            self._direct[number] = np.asarray(np.load(Path(self.storage) / self.names[number], mmap_mode="r"))
        return self._direct[number]
