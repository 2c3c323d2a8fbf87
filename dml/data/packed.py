"""Packing: every image is decoded and resized once, into one uint8 array that all processes map read-only.

A packed folder holds `images.npy` (N, H, W, C), `index.parquet` (one row an image) and `manifest.json`. Its `digest` is
the SHA-256 of all pixels, then the fine and the coarse labels (int64, little-endian). It is written beside its place
and renamed whole. With `decode="late"` there is no `images.npy`: files are decoded when their rows are asked for.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from dml.data import DataError, _decode
from dml.data._decode import CorruptImage
from dml.data._late import LateImages
from dml.data._listing import Listing, check_counts, corrupt_error, list_images, options_of
from dml.data._store import NpyWriter, check_space, load_json, locked, new_folder, save_json
from dml.data._stream import Progress, ordered

PACKING = 1  # a change that alters packed bytes raises it


@dataclass(frozen=True)
class Packed:
    """A packed dataset. It pickles as its folder: a worker maps the same file."""

    folder: Path
    images: Any  # uint8 (N, H, W, C), read-only: `images[rows]`
    index: pd.DataFrame
    manifest: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_packed, (self.folder,)


def packed_id(source: Any, resize: int | None = None, on_corrupt: str = "error", decode: str = "early") -> str:
    """A folder's name for what `pack` would write: readable, and another one for other options."""
    terms = [_plain(options_of(source)), on_corrupt, decode, PACKING]
    digest = hashlib.sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()[:8]
    return f"{source.name}-{resize or 'full'}-{digest}"


def open_packed(folder: Path | str) -> Packed:
    """Map a packed folder; nothing is read but the index.

    Raises
    ------
    DataError : there is none, or it is not what its manifest says.
    """
    folder = Path(folder)
    manifest = load_json(folder / "manifest.json")
    if manifest is None:
        raise DataError(f"{folder}: no packed dataset here (run the pack stage)")
    index = pd.read_parquet(folder / "index.parquet")
    shape = tuple(manifest[key] for key in ("images", "height", "width", "channels"))
    if manifest["decode"] == "late":
        files = [str(Path(manifest["root"]) / path) for path in index["path"]]
        return Packed(folder, LateImages(files, shape, manifest["resize"]), index, manifest)
    try:
        images = np.load(folder / "images.npy", mmap_mode="r")
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}/images.npy cannot be mapped: {error}; delete the folder and pack again") from error
    if images.shape != shape or len(index) != shape[0]:
        raise DataError(f"{folder}: the manifest says {shape}, images.npy is {images.shape}, the index {len(index)}")
    return Packed(folder, images, index, manifest)


def pack(
    source: Any,
    raw: Path,
    out: Path,
    resize: int | None = None,
    on_corrupt: Literal["error", "skip"] = "error",
    workers: int | None = None,
    report: Callable[[str], None] = print,
    decode: Literal["early", "late"] = "early",
) -> dict[str, Any]:
    """Pack a source's images into the folder `out`, unless the same is there already.

    Parameters
    ----------
    source : a source, such as `dml.data.build("mnist")`, whose raw files lie in `raw`.
    resize : side of the packed square in pixels; None: as they come, all of one size.
    on_corrupt : `error` lists them and stops; `skip` leaves them out and lists them in the manifest.
    workers : threads; None: one a core. The result does not depend on it.
    decode : `late` keeps the files' paths in place of the pixels. Every file is decoded once even so, to check it.

    Returns
    -------
    The manifest: source, options, resize, on_corrupt, decode, packing, images, height, width, channels, digest,
    skipped (`[{path, reason}]`), content (the digest at full size where the source states one), root (`late` only).

    Raises
    ------
    DataError : corrupt images, images of several sizes without `resize`, wrong counts or content, no space left.
    """
    for key, value, choices in (("on_corrupt", on_corrupt, ("error", "skip")), ("decode", decode, ("early", "late"))):
        if value not in choices:
            raise ValueError(f"{key}: {value!r}. Choices: {', '.join(choices)}")
    raw, out = Path(raw), Path(out)
    asked = {"source": source.name, "options": _plain(options_of(source)), "resize": resize}
    asked |= {"on_corrupt": on_corrupt, "decode": decode, "packing": PACKING}
    origin = source.fingerprint(raw) if hasattr(source, "fingerprint") else None
    with locked(out, report):
        there = load_json(out / "manifest.json")
        if there and asked.items() <= there.items() and load_json(out / "origin.json") == origin:
            report(f"{out}: packed already ({there['images']} images)")
            return there
        with new_folder(out) as folder:
            manifest = asked | _write(source, raw, folder, asked, workers or os.cpu_count() or 1, report)
            save_json(folder / "origin.json", origin)
            save_json(folder / "manifest.json", manifest)
    report(f"{out}: {manifest['images']} images packed, {len(manifest['skipped'])} skipped")
    return manifest


def content_digest(source: Any, raw: Path, workers: int | None = None) -> str:
    """SHA-256 over each image's decoded pixels at their own size, and its labels: what a repacked archive keeps.

    Raises
    ------
    DataError : some images are corrupt.
    """
    workers = workers or os.cpu_count() or 1
    listing = list_images(source, raw, workers, lambda line: None)
    if listing.corrupt:
        raise corrupt_error(listing.index, listing.corrupt)
    content = _Content(listing)
    for row, pixels, own in _decoded(source, raw, listing, None, workers, True):
        if isinstance(pixels, CorruptImage):
            raise corrupt_error(listing.index, {row: str(pixels)})
        content.add(row, own)
    return content.digest.hexdigest()


class _Content:
    def __init__(self, listing: Listing) -> None:
        self.labels = listing.index[["fine", "coarse"]].to_numpy("<i8")
        self.digest = hashlib.sha256()

    def add(self, row: int, own: bytes) -> None:
        self.digest.update(own + self.labels[row].tobytes())


def _write(
    source: Any, raw: Path, folder: Path, asked: Mapping[str, Any], workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write images and index; returns what the manifest says of them."""
    side, late, fatal = asked["resize"], asked["decode"] == "late", asked["on_corrupt"] == "error"
    listing = list_images(source, raw, workers, report)
    check_counts(source, listing.index)
    if listing.corrupt and fatal:
        raise corrupt_error(listing.index, listing.corrupt)
    shape = (len(listing.index) - len(listing.corrupt), *_size(source, listing, side), 1 if listing.grey else 3)
    root = _root(source, raw) if late else None
    if not late:
        check_space(folder, math.prod(shape), f"{source.name} (a smaller `resize`, or decode='late', needs less)")

    known = getattr(source, "content", None) if getattr(source, "complete", True) else None
    corrupt, digest, content = dict(listing.corrupt), hashlib.sha256(), _Content(listing)
    progress = Progress(f"packing {source.name}", len(listing.index), report)
    with NpyWriter(None if late else folder / "images.npy", shape) as images:
        for row, pixels, own in _decoded(source, raw, listing, side, workers, known is not None):
            if isinstance(pixels, CorruptImage):
                corrupt[row] = str(pixels)
                continue
            assert pixels.shape == shape[1:], (pixels.shape, shape)
            data = pixels.tobytes()
            images.write(data)
            digest.update(data)
            content.add(row, own)
            progress(row + 1)
    if corrupt and fatal:
        raise corrupt_error(listing.index, corrupt)
    if known is not None and content.digest.hexdigest() != known:
        raise DataError(
            f"{source.name}: the images or labels in {raw} are not the dataset's: content digest "
            f"{content.digest.hexdigest()}, expected {known}; delete the folder and download again"
        )

    index = listing.index.drop(index=list(corrupt)).reset_index(drop=True)
    index["index"] = np.arange(len(index))
    index.to_parquet(folder / "index.parquet", index=False)
    for level in ("fine", "coarse"):
        digest.update(index[level].to_numpy("<i8").tobytes())
    paths = listing.index["path"].to_numpy()
    return {
        "images": images.count,
        "height": shape[1],
        "width": shape[2],
        "channels": shape[3],
        "digest": digest.hexdigest(),
        "content": known,
        "skipped": [{"path": str(paths[row]), "reason": corrupt[row]} for row in sorted(corrupt)],
        "root": root,
    }


def _decoded(
    source: Any, raw: Path, listing: Listing, side: int | None, workers: int, content: bool
) -> Iterator[tuple[int, np.ndarray | CorruptImage, bytes]]:
    """Of each row that the listing has whole: row, pixels, and (with `content`) the digest of its full-size pixels."""
    work = partial(_one, channels=1 if listing.grey else 3, side=side, content=content)
    rows = ((row, record["image"]) for row, record in enumerate(source.images(raw)) if row not in listing.corrupt)
    return ordered(work, rows, workers)


def _one(
    item: tuple[int, _decode.ImageLike], channels: int, side: int | None, content: bool
) -> tuple[int, np.ndarray | CorruptImage, bytes]:
    row, encoded = item
    try:
        image = _decode.decode(encoded, channels)
    except CorruptImage as error:
        return row, error, b""
    own = b""
    if content:
        own = hashlib.sha256(f"{image.height}x{image.width}x{channels}:".encode() + image.tobytes()).digest()
    return row, _decode.resize(image, side), own


def _size(source: Any, listing: Listing, side: int | None) -> tuple[int, int]:
    """Height and width of the packed images."""
    whole = listing.index.drop(index=list(listing.corrupt))
    if whole.empty:
        raise corrupt_error(listing.index, listing.corrupt)
    if side is not None:
        return side, side
    first = whole.iloc[0]
    other = whole[(whole["height"] != first["height"]) | (whole["width"] != first["width"])]
    if len(other):
        found = ", ".join(f"{r['path']} is {r['height']} x {r['width']}" for r in (first, other.iloc[0]))
        raise DataError(f"{source.name}: the images have several sizes ({found}): give `resize`, a side in pixels")
    return int(first["height"]), int(first["width"])


def _root(source: Any, raw: Path) -> str:
    """The folder that the index's paths are relative to."""
    root = Path(getattr(source, "root", None) or raw).resolve()
    for record in source.images(raw):
        if not isinstance(record["image"], Path) or (root / record["path"]).resolve() != record["image"].resolve():
            raise DataError(f"{source.name}: its images are not files of their own: decode='late' cannot be used")
        break
    return str(root)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(options, default=str))
