"""A source's images, decoded and resized in parallel, written one after another with their digests."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dml.data import DataError, _decode
from dml.data._decode import CorruptImage
from dml.data._listing import Listing, check_counts, corrupt_error, list_images
from dml.data._store import NpyWriter, check_space
from dml.data._stream import Progress, ordered


class Content:
    """The digest of all images at their own size, and of their labels."""

    def __init__(self, listing: Listing) -> None:
        self.labels = listing.index[["fine", "coarse"]].to_numpy("<i8")
        self.digest = hashlib.sha256()

    def add(self, row: int, own: bytes) -> None:
        """`own`: the digest of one image's pixels."""
        self.digest.update(own + self.labels[row].tobytes())


def write(
    source: Any, raw: Path, folder: Path, asked: Mapping[str, Any], workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write images and index; returns what the manifest says of them."""
    side, late, fatal = asked["resize"], asked["decode"] == "late", asked["on_corrupt"] == "error"
    listing = list_images(source, raw, workers, report)
    check_counts(source, listing.index)
    if listing.corrupt and fatal:
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    shape = (len(listing.index) - len(listing.corrupt), *_size(source, listing, side), 1 if listing.grey else 3)
    root = _root(source, raw) if late else None
    if not late:
        check_space(folder, math.prod(shape), f"{source.name} (a smaller `resize`, or decode='late', needs less)")

    known = getattr(source, "content", None) if getattr(source, "complete", True) else None
    corrupt, digest, content = dict(listing.corrupt), hashlib.sha256(), Content(listing)
    progress = Progress(f"packing {source.name}", len(listing.index), report)
    with NpyWriter(None if late else folder / "images.npy", shape) as images:
        for row, pixels, own in decoded(source, raw, listing, side, workers, known is not None):
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


def decoded(
    source: Any, raw: Path, listing: Listing, side: int | None, workers: int, content: bool
) -> Iterator[tuple[int, np.ndarray | CorruptImage, bytes]]:
    """Of each row that the listing has whole: row, pixels, and (with `content`) the digest of its full-size pixels."""
    work = partial(_one, channels=1 if listing.grey else 3, side=side, content=content)
    rows = ((row, record["image"]) for row, record in enumerate(source.images(raw)) if row not in listing.corrupt)
    return ordered(work, rows, workers)


def all_corrupt(source: Any, raw: Path, listing: Listing, workers: int) -> dict[int, str]:
    """Row -> reason of every image that cannot be decoded; the listing knows those alone that have no whole header."""
    rows = decoded(source, raw, listing, None, workers, False)
    return listing.corrupt | {row: str(pixels) for row, pixels, _ in rows if isinstance(pixels, CorruptImage)}


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
