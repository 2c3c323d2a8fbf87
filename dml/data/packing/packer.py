"""Pack a source: decode and resize every image once, into one uint8 array that all processes map read-only.

The manifest's `digest` is the SHA-256 of all pixels, then the fine and the coarse labels (int64, little-endian).
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd

from dml import files
from dml.counting import counted
from dml.data import DataError
from dml.data.packing.decoding import CorruptImage, How, as_resize
from dml.data.packing.listing import Listing, ProgressLine, check_counts, corrupt_error, list_images, lost_classes
from dml.data.packing.opening import PIXELS, SHAPE, VECTORS, all_corrupt, decoded, open_packed
from dml.data.raw.walking import content_of, named
from dml.files import check_space
from dml.protocols import Source, VectorSource
from dml.settings import check_choice

FILES = ("images.npy", "index.parquet", "manifest.json", "origin.json")
EXPECTED = "expected a new or empty folder, or one that `pack` wrote"


def check_place(source: Source, raw: Path, out: Path) -> None:
    """Raise a DataError if `out` exists and `pack` did not write it, or if it contains the source's own files."""
    for what, folder in (("raw folder", raw), ("root", source.root)):
        if folder is not None and out.resolve() in (Path(folder).resolve(), *Path(folder).resolve().parents):
            raise DataError(f"out is {out}, which would replace the {what} {folder}: {EXPECTED}, outside of it")
    if not out.exists() and not out.is_symlink():
        return
    names = {path.name for path in out.iterdir()} if out.is_dir() else {"a file"}
    contents = (files.read_json(out / "manifest.json"), files.read_json(out / "origin.json")) if out.is_dir() else ()
    ours = any(isinstance(c, dict) and key in c for c, key in zip(contents, ("packing", "files"), strict=False))
    if names - set(FILES) or (names and not ours):
        raise DataError(f"{out}: {EXPECTED}, found {', '.join(sorted(names)[:3])}: nothing is deleted; choose another")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A new folder beside `out`. It is synced and renamed to `out` at the end, and deleted after an error."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for left in out.parent.glob(f".{out.name}.new-*"):  # from a killed process; the caller holds the lock
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
    folder = temporary / "new"
    folder.mkdir()
    try:
        yield folder
        for path in [*folder.rglob("*"), folder]:
            files.sync(path)
        if out.exists():
            out.rename(temporary / "old")
        folder.rename(out)
        files.sync(out.parent)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise DataError(f"{out}: no space left on the disk; no files are left behind") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_header(file: BinaryIO, *shape: int) -> None:
    """The header of a uint8 .npy file: of one length for fewer images too, since NumPy pads it for arrays that grow."""
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})


def write(
    source: Source, raw: Path, folder: Path, how: How, fatal: bool, workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write `images.npy` and `index.parquet` into `folder`; `fatal`: a corrupt image is an error."""
    listing = list_images(source, raw, workers, report)
    check_counts(source, listing.index)
    if listing.corrupt and fatal:
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    shape = (len(listing.index) - len(listing.corrupt), *_size(source, listing, how), 1 if listing.grey else 3)
    check_space(folder, math.prod(shape), f"{source.name} (a smaller `resize` needs less)")

    corrupt, digest = dict(listing.corrupt), hashlib.sha256()
    rows_of: dict[bytes, list[int]] = {}  # of each image by its digest
    progress = ProgressLine(f"packing {source.name}", len(listing.index), report)
    count = 0
    with open(folder / "images.npy", "wb", buffering=2**20) as file:
        _write_header(file, *shape)
        for row, pixels in decoded(source, raw, listing, how, workers):
            if isinstance(pixels, CorruptImage):
                corrupt[row] = str(pixels)
                continue
            assert pixels.shape == shape[1:], (pixels.shape, shape)
            data = pixels.tobytes()
            rows_of.setdefault(hashlib.blake2b(data, digest_size=16).digest(), []).append(count)
            file.write(data)
            count += 1
            digest.update(data)
            progress(row + 1)
        file.seek(0)
        _write_header(file, count, *shape[1:])
    if corrupt and fatal:
        raise corrupt_error(listing.index, corrupt)

    index = listing.index.drop(index=list(corrupt)).reset_index(drop=True)
    index["index"] = np.arange(len(index))
    paths, copies = listing.index["path"], [rows for rows in rows_of.values() if len(rows) > 1]
    lost = lost_classes(listing.index, corrupt)
    return {
        **({"copies": sorted(copies, key=lambda rows: rows[1])} if copies else {}),
        **({"lost_classes": lost} if lost else {}),
        **_saved(folder, index, digest, (count, *shape[1:])),
        "content": source.content if source.complete else None,
        "skipped": [{"path": str(paths[row]), "reason": corrupt[row]} for row in sorted(corrupt)],
    }


def _saved(folder: Path, index: pd.DataFrame, digest: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Write the index. What the manifest says of it and of the array, whose pixels the digest has seen."""
    index.to_parquet(folder / "index.parquet", index=False)
    for level in ("fine", "coarse"):
        digest.update(index[level].to_numpy("<i8").tobytes())
    return {**dict(zip(SHAPE, shape, strict=True)), "digest": digest.hexdigest()}


def _size(source: Source, listing: Listing, how: How) -> tuple[int, int]:
    """Height and width of the packed images."""
    valid = listing.index.drop(index=list(listing.corrupt))
    if valid.empty:
        raise corrupt_error(listing.index, listing.corrupt)
    if how is not None:
        return (as_resize(how).side,) * 2
    first = valid.iloc[0]
    other = valid[(valid["height"] != first["height"]) | (valid["width"] != first["width"])]
    if len(other):
        sizes = ", ".join(f"{r['path']} is {r['height']} x {r['width']}" for r in (first, other.iloc[0]))
        raise DataError(f"{source.name}: the images have several sizes ({sizes}): set `resize`, a side in pixels")
    return int(first["height"]), int(first["width"])


def of_vectors(manifest: Mapping[str, Any]) -> bool:
    """Whether a packed folder contains vectors in place of images."""
    return manifest.get("decode") == VECTORS


def finite_chunks(name: object, vectors: np.ndarray, kind: Any = np.float32) -> Iterator[tuple[int, np.ndarray]]:
    """Runs of vectors (n, D) as they are stored, with the first one's number. Raises DataError: infinity or NaN."""
    for start in range(0, len(vectors), 4096):
        with np.errstate(over="ignore"):
            part = np.ascontiguousarray(vectors[start : start + 4096], dtype=kind)
        if len(bad := np.flatnonzero(~np.isfinite(part).all(axis=1))):
            raise DataError(f"{name}: vector {start + int(bad[0])} (from 0) contains infinity or NaN")
        yield start, part


def write_vectors(
    source: Source, raw: Path, folder: Path, workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write `images.npy`, float16 or float32 (N, 1, 1, D), and `index.parquet` into `folder`. Raises DataError."""
    assert isinstance(source, VectorSource)
    index, vectors = list_images(source, raw, workers, report).index, source.vectors(raw)
    if len(vectors) != len(index):
        raise DataError(f"{source.name}: {len(vectors)} vectors, but {len(index)} labels: expected one label a vector")
    kind = np.dtype(np.float16 if vectors.dtype == np.float16 else np.float32)
    shape = (len(index), 1, 1, vectors.shape[1])
    check_space(folder, shape[0] * shape[3] * kind.itemsize, source.name)
    digest, progress = hashlib.sha256(), ProgressLine(f"packing {source.name}", len(index), report)
    images = np.lib.format.open_memmap(folder / "images.npy", mode="w+", dtype=kind, shape=shape)
    for start, part in finite_chunks(source.name, vectors, kind):
        images[start : start + len(part), 0, 0] = part
        digest.update(part.tobytes())
        progress(start + len(part))
    images.flush()
    return {**_saved(folder, index, digest, shape), "content": None, "skipped": []}


version = 2
"""Raised when packing gives other bytes: existing datasets are then packed again. A golden test pins the bytes."""


def packed_id(source: Source, resize: How = None, on_corrupt: str = "error") -> str:
    """The name of the folder for what `pack` writes: readable, and different for other options or versions."""
    terms = [_plain(source.options), on_corrupt, PIXELS, version, source.version]
    if not (kind := type(source)).__module__.startswith("dml."):  # it may have the name of another source
        terms.append(f"{kind.__module__}.{kind.__qualname__}")
    side = resize
    if isinstance(resize, Mapping):
        side = resize["side"]
        terms.append(dict(resize))
    digest = hashlib.sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()[:8]
    return f"{source.name}-{side or 'full'}-{digest}"


def pack(
    source: Source,
    raw: Path,
    out: Path,
    resize: How = None,
    on_corrupt: Literal["error", "skip"] = "error",
    workers: int | None = None,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Pack a source's images into the folder `out` unless it has the complete result. Returns the manifest.

    Parameters
    ----------
    source : such as `dml.data.sources.build("mnist")`, with its raw files in `raw`.
    resize : side of the packed square in pixels, or the fields of a `dml.types.Resize`; None: keep the size, which all
        images must share.
    on_corrupt : `error` lists corrupt images and stops; `skip` leaves them out and lists them in the manifest
        (`skipped`). A missing file is an error with both, unless the source accepts a part of its dataset.
    workers : threads; None: one per core. The result does not depend on it.

    Raises DataError: corrupt or missing images, several sizes without `resize`, wrong counts or content, no space left;
    `out` contains files that `pack` did not write, or the source's own.
    """
    check_choice("on_corrupt", on_corrupt, ("error", "skip"))
    raw, out = Path(raw), Path(out)
    vectors = isinstance(source, VectorSource)
    stated = {"source": source.name, "source_version": source.version, "options": _plain(source.options)}
    decode = VECTORS if vectors else PIXELS
    stated |= {"resize": resize, "on_corrupt": on_corrupt, "decode": decode, "packing": version}
    check_place(source, raw, out)
    origin = {"files": source.fingerprint(raw) or content_of(raw, out)}
    lock = out.with_name(f"{out.name}.lock")
    with files.locked(lock, on_wait=lambda: report(f"{out}: waiting for another process")):
        check_place(source, raw, out)
        manifest = files.read_json(out / "manifest.json")
        same = isinstance(manifest, dict) and stated.items() <= manifest.items()
        if same and files.read_json(out / "origin.json") == origin and _complete(out, report):
            report(f"{out}: packed already ({counted(manifest['images'], 'image')})")
            return manifest
        with new_folder(out) as folder:
            threads = workers or os.cpu_count() or 1
            if vectors:
                manifest = stated | write_vectors(source, raw, folder, threads, report)
            else:
                manifest = stated | write(source, raw, folder, resize, on_corrupt == "error", threads, report)
            files.write_json(folder / "origin.json", origin)
            files.write_json(folder / "manifest.json", manifest)
    skipped = [f"{entry['path']} ({entry['reason']})" for entry in manifest["skipped"]]
    examples = f": {named(skipped, 3)}" if skipped else ""
    if "lost_classes" in manifest:
        report(f"{source.name}: {manifest['lost_classes']}")
    report(f"{out}: {counted(manifest['images'], 'image')} packed, {len(skipped)} skipped{examples}")
    return manifest


def _complete(folder: Path, report: Callable[[str], None]) -> bool:
    """Whether the folder has all that its manifest states. The reason is reported if not."""
    try:
        open_packed(folder)
    except DataError as error:
        report(f"packing again: {error}")
        return False
    return True


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(options, default=str))
