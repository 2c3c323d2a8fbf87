"""Open a packed folder: map its array, read its index."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import files
from dml.data import DataError
from dml.data.packing.decoding import CorruptImage, How, ImageLike, decode, resize
from dml.data.packing.listing import Listing, check_counts, corrupt_error, list_images, ordered
from dml.protocols import Source

PIXELS, VECTORS = "eager", "vectors"  # `decode` of a manifest
SHAPE = ("images", "height", "width", "channels")  # of the array, in a manifest
AGAIN = "delete the folder and pack again"


@dataclass(frozen=True)
class Packed:
    """A packed dataset. It pickles as its folder: a worker process maps the same file."""

    folder: Path
    images: Any  # mapped: uint8 (N, H, W, C), read-only: `images[rows]`; of vectors, float (N, 1, 1, D)
    index: pd.DataFrame
    manifest: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_packed, (self.folder,)


def open_packed(folder: Path | str) -> Packed:
    """Open a packed folder. The images are mapped; only the index is read. Raises DataError."""
    folder = Path(folder)
    manifest = files.read_json(folder / "manifest.json")
    if manifest is None:
        raise DataError(f"{folder}: no packed dataset here (run the pack stage)")
    try:
        shape = tuple(manifest[key] for key in SHAPE)
        kinds = (np.float16, np.float32) if manifest["decode"] == VECTORS else (np.uint8,)
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{folder}/manifest.json does not describe a packed dataset; pack into another folder"
        ) from error
    index = _read(folder / "index.parquet", pd.read_parquet)
    if len(index) != shape[0]:
        raise DataError(f"{folder}: the manifest says {shape[0]} images, index.parquet {len(index)}; {AGAIN}")
    images = _read(folder / "images.npy", lambda path: np.lib.format.open_memmap(path, mode="r"))
    if images.shape != shape or images.dtype not in kinds:
        raise DataError(f"{folder}: the manifest says {shape}, images.npy is {images.dtype} {images.shape}; {AGAIN}")
    if (folder / "images.npy").stat().st_size != images.offset + images.nbytes:
        raise DataError(f"{folder}/images.npy is longer than its header says; {AGAIN}")
    return Packed(folder, images, index, manifest)


def _read(path: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(path)
    except FileNotFoundError:
        raise DataError(f"{path} is missing; {AGAIN}") from None
    except (OSError, ValueError) as error:  # NumPy's and pyarrow's errors for broken files
        raise DataError(f"{path} cannot be read: {error}; {AGAIN}") from error


def content_digest(source: Source, raw: Path, listing: Listing | None = None) -> str:
    """SHA-256 over each image's decoded pixels at their own size, and its labels. Raises DataError."""
    workers = os.cpu_count() or 1
    listing = listing or list_images(source, raw, workers, lambda line: None)
    if listing.corrupt:
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    digest, channels = hashlib.sha256(), 1 if listing.grey else 3
    labels = listing.index[["fine", "coarse"]].to_numpy("<i8")
    for row, pixels in decoded(source, raw, listing, None, workers):
        if isinstance(pixels, CorruptImage):
            raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
        content = f"{pixels.shape[0]}x{pixels.shape[1]}x{channels}:".encode() + pixels.tobytes()
        digest.update(hashlib.sha256(content).digest() + labels[row].tobytes())
    return digest.hexdigest()


def check_content(source: Source, raw: Path) -> None:
    """Raise a DataError unless the raw files have the source's `counts` and, if it is stated, its `content` digest."""
    if not source.complete:
        return
    listing = list_images(source, raw, os.cpu_count() or 1, lambda line: None)
    check_counts(source, listing.index)
    if source.content and (got := content_digest(source, raw, listing)) != source.content:
        raise DataError(
            f"{source.name}: the archives are intact, but the images or labels are not those of the dataset "
            f"(content digest {got}, expected {source.content})"
        )


def decoded(
    source: Source, raw: Path, listing: Listing, how: How, workers: int
) -> Iterator[tuple[int, np.ndarray | CorruptImage]]:
    """Row and pixels of each image with a valid header."""
    channels = 1 if listing.grey else 3

    def one(item: tuple[int, ImageLike]) -> tuple[int, np.ndarray | CorruptImage]:
        try:
            return item[0], resize(decode(item[1], channels), how)
        except CorruptImage as error:
            return item[0], error

    rows = ((row, record["image"]) for row, record in enumerate(source.images(raw)) if row not in listing.corrupt)
    return ordered(one, rows, workers)


def all_corrupt(source: Source, raw: Path, listing: Listing, workers: int) -> dict[int, str]:
    """Row -> reason for every image that cannot be decoded. (The listing has only those with an invalid header.)"""
    rows = decoded(source, raw, listing, None, workers)
    return listing.corrupt | {row: str(pixels) for row, pixels in rows if isinstance(pixels, CorruptImage)}
