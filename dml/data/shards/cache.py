"""A local cache of shards, of bounded size, shared by the processes of a node.

Files are named by their content, so several datasets can share a cache. A file appears by a rename after its digest has
been checked: what a killed process left is never taken for a shard. The least recently used files are deleted first. A
process that has mapped a deleted file keeps its blocks on the disk until its own next miss.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import numpy as np
from filelock import FileLock

from dml import files
from dml.counting import size_text
from dml.data import DataError
from dml.data.shards import storage

TOUCH = 30.0  # seconds between two notes that a mapped file is in use
PARTIAL = ".part"


class ShardCache:
    """Shards as mapped arrays, fetched when they are first used, by any thread: one prefetches while another evaluates.

    Parameters
    ----------
    folder : of the cache; created if it is missing.
    limit : bytes of all files in it, at most.
    """

    def __init__(self, folder: Path | str, limit: int) -> None:
        self.folder, self.limit = Path(folder), limit
        self._mapped: OrderedDict[str, tuple[np.ndarray, float]] = OrderedDict()
        self.misses = 0
        self._lock = threading.Lock()  # of `_mapped`

    def get(self, place: str, name: str, digest: str, size: int) -> np.ndarray:
        """A shard, mapped read-only.

        Parameters
        ----------
        place : the storage, a folder or URI.
        name : of the file in it.
        digest, size : SHA-256 and bytes of the file.

        Raises
        ------
        DataError : the shard is larger than the cache, missing, or has another digest.
        """
        with self._lock:
            return self._get(place, name, digest, size)

    def _get(self, place: str, name: str, digest: str, size: int) -> np.ndarray:
        found = self._mapped.get(digest)
        if found is not None:
            array, touched = found
            now = time.monotonic()
            self._mapped.move_to_end(digest)
            if now - touched > TOUCH:
                self._touch(digest)
                self._mapped[digest] = array, now
            return array
        if size > self.limit:
            raise DataError(
                f"shard {name} has {size_text(size)}, and the cache {size_text(self.limit)}: expected a cache of at "
                "least one shard, better of many; set shards.cache, or a smaller shards.size"
            )
        path = self._path(digest)
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"):  # the kernel releases it when its process ends, however it ends
            if not (path.is_file() and path.stat().st_size == size):
                self.misses += 1
                self._make_room(size)
                self._fetch(path, place, name, digest, size)
            array = np.asarray(np.load(path, mmap_mode="r"))  # a view: indexing a memmap is slow
            os.utime(path)
        self._forget()
        self._mapped[digest] = array, time.monotonic()
        return array

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest[:32]}.npy"

    def _touch(self, digest: str) -> None:
        with suppress(FileNotFoundError):  # deleted by another process; the mapping is valid until it is dropped
            os.utime(self._path(digest))

    def _make_room(self, size: int) -> None:
        """Delete the least recently used files until `size` bytes fit. The caller holds the lock."""
        for left in self.folder.glob(f"*{PARTIAL}"):  # of a process that was killed
            left.unlink()
        for digest in self._mapped:  # in use here, since not necessarily touched lately
            self._touch(digest)
        kept = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in self.folder.glob("*.npy"))
        total = sum(bytes_ for _, bytes_, _ in kept)
        for _, bytes_, path in kept:
            if total + size <= self.limit:
                break
            path.unlink()
            total -= bytes_

    def _fetch(self, path: Path, place: str, name: str, digest: str, size: int) -> None:
        partial, seen = path.with_suffix(PARTIAL), hashlib.sha256()
        try:
            with open(partial, "wb") as file:
                for part in storage.read(place, name):
                    seen.update(part)
                    file.write(part)
            if seen.hexdigest() != digest:
                raise DataError(
                    f"shard {name} in {place}: its SHA-256 is {seen.hexdigest()[:16]}..., expected {digest[:16]}...: "
                    "it was changed or cut off; write the shards again (run the pack stage)"
                )
            files.move(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def _forget(self) -> None:
        """Drop mappings of files that were deleted, so that their blocks are freed."""
        for digest in [digest for digest in self._mapped if not self._path(digest).is_file()]:
            del self._mapped[digest]
