"""A local cache of shards, of bounded size, shared by the processes of a node.

One mapped file has slots for the rows of one shard each, and a table of which shard is in which slot. So a read is one
fancy index, without a lock. Whoever fills a slot holds a lock, and in the table changes things in this order: the shard
that leaves, the number of fills, the rows, the shard that comes, once its SHA-256 is checked. A reader whose number of
fills is the same before and after its copy has therefore copied what it meant to; otherwise it copies under the lock. A
killed process leaves a free slot.

Files are named by their shards and slots: another dataset, or another version of it, has another file. Files that no
process uses are deleted where they would exceed the limit, the oldest first.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
from pathlib import Path

import numpy as np
from filelock import FileLock

from dml import files
from dml.counting import size_text
from dml.data import DataError
from dml.data.shards import storage
from dml.data.shards.layout import ShardTable

ABSENT = -(1 << 62)  # in place of an offset: no row's number makes it positive
SUFFIX = ".rows"


class ShardCache:
    """Rows of shards, which are fetched when they are first read, by any thread or process.

    Parameters
    ----------
    folder : of the caches of all datasets and nodes; created by the first read.
    limit : bytes of the slots, at most; each has room for the largest shard. The table takes 9 bytes a shard more.
    table : of the shards.
    """

    def __init__(self, folder: Path | str, limit: int, table: ShardTable) -> None:
        self.folder, self.limit, self.table = Path(folder) / platform.node(), limit, table
        self.slot_bytes = table.most * table.row_bytes
        self.slots = min(limit // self.slot_bytes, len(table.names))
        content = repr((self.slots, table.most, table.row_bytes, table.digests)).encode()
        self.path = self.folder / f"{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}"
        self.misses = 0
        self._opened: _Slots | None = None

    def read(self, places: np.ndarray) -> np.ndarray:
        """The rows at places, int64 (b,): shard * (rows of the largest shard) + the row's number in its shard.

        Raises
        ------
        DataError : a shard is larger than the cache, missing, or has another digest.
        OSError : the disk is full.
        """
        shard, found = places // self.table.most, self._opened
        if found is not None:
            before = found.fills[0]
            inside = places + found.offsets.take(shard)
            if inside.min() >= 0:
                found.read[shard] = 1
                rows = found.rows.take(inside, 0)
                if found.fills[0] == before:
                    return rows
        self.folder.mkdir(parents=True, exist_ok=True)
        out, numbers = np.empty((len(places), *self.table.shape), self.table.kind), np.unique(shard).tolist()
        if found is not None:  # those that are here first: they may have to leave for the others
            numbers.sort(key=lambda number: found.offsets[number] == ABSENT)
        for number in numbers:
            chosen = shard == number
            with FileLock(self.folder / "lock"):  # the kernel releases it when its process ends, however it ends
                found = self._open()
                if found.offsets[number] == ABSENT:
                    self._fill(found, number)
                else:
                    found.read[number] = 1
                out[chosen] = found.rows[places[chosen] + found.offsets[number]]
        return out

    def _open(self) -> _Slots:
        """The mapped file, which is created if it is missing. The caller holds the lock."""
        if self._opened is not None and self._opened.is_at(self.path):
            return self._opened
        if self.slots == 0:
            raise DataError(
                f"a shard of {self.table.storage} has {size_text(self.slot_bytes)}, and the cache "
                f"{size_text(self.limit)}: expected a cache of at least one shard, better of many; set shards.cache, "
                "or a smaller shards.size"
            )
        room = self.limit - self.slots * self.slot_bytes
        for other in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
            size = other.stat().st_size
            if other != self.path and not (size > room and _deleted_unused(other)):
                room -= size
        self._opened = _Slots(self.path, self.slots, self.table)
        return self._opened

    def _fill(self, found: _Slots, number: int) -> None:
        """Fetch a shard into a slot. The caller holds the lock."""
        table, size, done, seen = self.table, self.table.sizes[number], 0, hashlib.sha256()
        header = size - table.rows[number] * table.row_bytes
        slot = found.take_slot(table.most)
        self.misses += 1
        try:
            with open(found.file.fileno(), "r+b", closefd=False) as file:  # not by its path: it may be another file now
                file.seek(found.start + slot * self.slot_bytes)
                for part in storage.read(table.storage, table.names[number]):
                    seen.update(part)
                    file.write(part[max(0, header - done) : max(0, size - done)])  # a longer shard stays in its slot
                    done += len(part)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        if (given := seen.hexdigest()) != (expected := table.digests[number]):
            raise DataError(
                f"shard {table.names[number]} in {table.storage}: its SHA-256 is {given[:16]}..., expected "
                f"{expected[:16]}...: it was changed or cut off; write the shards again (run the pack stage)"
            )
        found.offsets[number] = (slot - number) * table.most


class _Slots:
    """The mapped file of a cache, made if it is missing.

    It has offsets int64 (S,), fills int64 (1,), read uint8 (S,), then rows. A row at place `p` of shard `s` is in
    `rows[p + offsets[s]]`. `read` marks shards that were read lately, and not for the first time.
    """

    def __init__(self, path: Path, slots: int, table: ShardTable) -> None:
        import fcntl  # Windows has none

        count, shape = len(table.names), (slots * table.most, *table.shape)
        self.count, self.start = slots, -(-(9 * count + 8) // 4096) * 4096
        if not path.is_file():
            with files.replacing(path) as temporary, open(temporary, "wb") as made:
                head = np.append(np.full(count, ABSENT), 0).tobytes()
                made.write(head.ljust(self.start, b"\0"))  # all of it: a mapped write to a hole can kill on a full disk
                made.truncate(self.start + math.prod(shape) * table.kind.itemsize)
        os.utime(path)
        self.file = open(path, "r+b")  # noqa: SIM115
        fcntl.flock(self.file, fcntl.LOCK_SH)  # until the object is gone: the file is in use
        self.head = np.memmap(self.file, np.uint8, "r+", shape=(self.start,))
        numbers = np.asarray(self.head)[: 8 * count + 8].view(np.int64)
        self.offsets, self.fills = numbers[:-1], numbers[-1:]
        self.read = np.asarray(self.head)[8 * count + 8 : 9 * count + 8]
        self.rows = np.asarray(np.memmap(self.file, table.kind, "r", self.start, shape))  # indexing a memmap is slow

    def is_at(self, path: Path) -> bool:
        """Whether this is still the file of that name."""
        return path.is_file() and os.path.samestat(os.fstat(self.file.fileno()), path.stat())

    def take_slot(self, most: int) -> int:
        """A free slot, or that of a shard that was not read since the last look. Nobody trusts its rows afterwards."""
        here = np.flatnonzero(self.offsets != ABSENT)
        owner = np.full(self.count, -1)
        owner[self.offsets[here] // most + here] = here
        slot = int((owner < 0).argmax())
        if owner[slot] >= 0:
            slot = int(self.fills[0]) % self.count
            while self.read[owner[slot]]:  # the second chance of the clock algorithm
                self.read[owner[slot]] = 0
                slot = (slot + 1) % self.count
            self.offsets[owner[slot]] = ABSENT
        self.fills += 1
        self.head.flush()  # on the disk before the rows change
        return slot


def _deleted_unused(path: Path) -> bool:
    """Delete a cache's file, unless a process uses it."""
    import fcntl

    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        path.unlink()
    return True
