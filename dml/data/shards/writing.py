"""Write shards: `write_shard` writes one, from any reader of rows, so that workers can share them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dml import files
from dml.counting import bytes_of, counted
from dml.data import DataError
from dml.data.shards import storage
from dml.data.shards.images import PLACES
from dml.data.shards.layout import TABLE, Layout, plan_layout
from dml.data.shards.members import write_members

PART = 1 << 24  # bytes of rows in memory at once
COPIED = 1 << 16  # rows of the index copied at once


class Reader(Protocol):
    """Gives rows, int64 (b,), as (b, H, W, C). It pickles, if other processes write shards."""

    def __call__(self, rows: np.ndarray, /) -> np.ndarray: ...


@dataclass(frozen=True)
class MappedReader:
    """Rows of a `.npy` file, mapped for each read."""

    path: Path

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        array = np.load(self.path, mmap_mode="r")
        return array[rows].reshape(len(rows), *((1, 1, array.shape[-1]) if array.ndim == 2 else array.shape[1:]))


@dataclass(frozen=True)
class ShardJob:
    """What a process needs to write one shard; it pickles."""

    read: Reader
    layout: Layout
    shape: tuple[int, ...]  # (N, H, W, C)
    kind: str  # of the numbers, such as "uint8"
    storage: str  # a folder or URI
    order: Path | None = None  # a .npy file of the rows in the order of their classes; None: they are in this order
    done: Path | None = None  # a folder for the digests of written shards, from which a stopped job resumes


def write_shard(job: ShardJob, number: int) -> dict[str, Any]:
    """Write one shard, unless it is there. Holds some megabytes of it at once.

    Returns
    -------
    Its entry in the table of shards: name, start, rows, bytes, digest (SHA-256).
    """
    name, note = job.layout.name(number), None if job.done is None else job.done / f"{number}.json"
    entry = None if note is None else files.read_json(note)
    if entry is not None and storage.size_of(job.storage, name) == entry["bytes"]:
        return entry
    digest, size = hashlib.sha256(), 0

    def parts() -> Iterator[bytes]:
        nonlocal size
        for part in _content(job, number):
            digest.update(part)
            size += len(part)
            yield part

    storage.write(job.storage, name, parts())
    start, rows = int(job.layout.starts[number]), job.layout.rows(number)
    entry = {"name": name, "start": start, "rows": rows, "bytes": size, "digest": digest.hexdigest()}
    if note is not None:
        files.write_json(note, entry)
    return entry


def _content(job: ShardJob, number: int) -> Iterator[bytes]:
    """The bytes of a shard's `.npy` file."""
    kind, rows = np.dtype(job.kind), job.layout.rows(number)
    header = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (rows, *job.shape[1:])}
    np.lib.format.write_array_header_1_0(header, described)
    yield header.getvalue()
    step = max(1, PART // (int(np.prod(job.shape[1:])) * kind.itemsize))
    first, last = int(job.layout.starts[number]), int(job.layout.starts[number + 1])
    for start in range(first, last, step):
        chosen = np.arange(start, min(start + step, last))
        if job.order is not None:
            chosen = np.load(job.order, mmap_mode="r")[chosen]
        yield np.ascontiguousarray(job.read(chosen), dtype=kind).tobytes()


def write_table(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Write `shards.parquet` from what `write_shard` returned for all shards, in any order."""
    table = pa.Table.from_pylist(sorted(entries, key=lambda entry: entry["start"]))
    with files.replacing(folder / TABLE) as temporary:
        pq.write_table(table, temporary)


def _here(function: Callable[..., Any], inputs: list[tuple[Any, ...]]) -> Iterator[list[Any]]:
    for given in inputs:
        yield [function(*given)]


def shard_packed(
    packed: Path | str,
    out: Path | str,
    *,
    size: str | int = "256 MB",
    storage: str | None = None,
    cache: str | int = "2 GB",
    run: Callable[..., Any] = _here,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Write a packed folder's array as shards, unless they are there. A stopped call resumes with the next shard.

    Parameters
    ----------
    packed : the folder that `pack` wrote, with an array (`decode: eager`, or vectors).
    out : a folder for the index and the table of shards, which every node needs.
    size : of a shard, at most.
    storage : a folder or URI for the shards; None: in `out`, where they are mapped without a cache.
    cache : bytes of the local cache, at least one shard.
    run : calls `write_shard` for all shards; `dml.sweep.execution.sharding` has one over Ray's workers.

    Returns
    -------
    The manifest: that of the packed folder, and `shards`.

    Raises
    ------
    DataError : the folder has no array, or the cache is smaller than a shard.
    """
    packed, out = Path(packed), Path(out)
    manifest, path = files.read_json(packed / "manifest.json"), packed / "images.npy"
    if manifest is None or not path.is_file():
        raise DataError(f"{packed}: expected a packed folder with images.npy: shards need decode: eager, or vectors")
    most, room = bytes_of(size), bytes_of(cache)
    if storage is not None and room < most:
        raise DataError(f"shards: cache: expected at least the size of a shard ({most} bytes), got {room}")
    place = str(out.resolve() / "shards") if storage is None else storage
    asked = {"size": most, "storage": storage, "cache": room}
    with files.locked(out.with_name(f"{out.name}.lock")):
        array = np.load(path, mmap_mode="r")
        made = {**manifest, "shards": {**asked, "kind": str(array.dtype)}}
        if files.read_json(out / "manifest.json") == made and (out / PLACES).is_file():  # earlier versions lack it
            return made
        out.mkdir(parents=True, exist_ok=True)
        (out / "manifest.json").unlink(missing_ok=True)
        members = write_members(lambda: _labels(packed / "index.parquet"), out / "classes")
        layout = plan_layout(np.diff(members.starts), array[:1].nbytes, most - 128)  # the header of a .npy file
        _write_places(members.members, layout, out / PLACES)
        done = out / f"written-{most}-{hashlib.sha256(place.encode()).hexdigest()[:8]}-{manifest['digest'][:16]}"
        job = ShardJob(
            *(MappedReader(path), layout, array.shape, str(array.dtype), place),
            order=out / "classes" / "members.npy",
            done=done,
        )
        entries: list[dict[str, Any]] = []
        for some in run(write_shard, [(job, number) for number in range(layout.count)]):
            entries += some
        write_table(out, entries)
        _copy_index(packed / "index.parquet", out / "index.parquet")
        files.write_json(out / "manifest.json", made)
    report(f"{out}: {counted(array.shape[0], 'image')} in {counted(layout.count, 'shard')}")
    return made


def shards_id(packed: str, **asked: Any) -> str:
    """The name of the folder for what `shard_packed` writes of a packed folder's name, different for other settings."""
    return f"{packed}-shards-{hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]}"


def _copy_index(source: Path, out: Path) -> None:
    """Copy an index in row groups, so that readers need not hold all of it."""
    opened = pq.ParquetFile(source)
    with files.replacing(out) as temporary, pq.ParquetWriter(temporary, opened.schema_arrow) as writer:
        for batch in opened.iter_batches(COPIED):
            writer.write_batch(batch)


def _labels(index: Path) -> Iterator[np.ndarray]:
    """The classes of a packed index, in parts."""
    for batch in pq.ParquetFile(index).iter_batches(COPIED, columns=["fine"]):
        yield batch.column(0).to_numpy()


def _write_places(order: np.ndarray, layout: Layout, path: Path) -> None:
    """Write the place of each row as `ShardedImages` needs it, int64 (n,), from the rows in the order of classes."""
    most = np.diff(layout.starts).max()
    with files.replacing(path) as temporary:
        places = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int64, shape=order.shape)
        for start in range(0, len(order), COPIED):
            part = order[start : start + COPIED]
            number = np.arange(start, start + len(part))
            shard = layout.starts.searchsorted(number, "right") - 1
            places[part] = shard * most + number - layout.starts[shard]
        places.flush()
        del places
