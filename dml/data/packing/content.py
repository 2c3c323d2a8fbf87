"""The content of a dataset: a digest of all decoded pixels and labels, which survives repacking an archive."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from dml.data import DataError
from dml.data.packing.decoding import CorruptImage, How, ImageLike, decode, resize
from dml.data.packing.listing import Listing, check_counts, corrupt_error, list_images
from dml.data.packing.streaming import ordered
from dml.protocols import Source


class Content:
    """Accumulates the digest of all images at their own size, and of their labels."""

    def __init__(self, listing: Listing) -> None:
        self.labels = listing.index[["fine", "coarse"]].to_numpy("<i8")
        self.digest = hashlib.sha256()

    def add(self, row: int, own: bytes) -> None:
        """Add an image. `own` is the digest of its pixels."""
        self.digest.update(own + self.labels[row].tobytes())


def content_digest(source: Source, raw: Path, workers: int | None = None, listing: Listing | None = None) -> str:
    """SHA-256 over each image's decoded pixels at their own size, and its labels.

    Parameters
    ----------
    workers : threads; None: one per core.
    listing : of the same raw files, if it is known.

    Raises
    ------
    DataError : some images are corrupt.
    """
    workers = workers or os.cpu_count() or 1
    listing = listing or list_images(source, raw, workers, lambda line: None)
    if listing.corrupt:
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    content = Content(listing)
    for row, pixels, own in decoded(source, raw, listing, None, workers, True):
        if isinstance(pixels, CorruptImage):
            raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
        content.add(row, own)
    return content.digest.hexdigest()


def check_content(source: Source, raw: Path) -> None:
    """Raise a DataError unless the raw files have the source's `counts` and, if it is stated, its `content` digest.

    Does nothing for a source with `complete` False.
    """
    if not source.complete:
        return
    listing = list_images(source, raw, os.cpu_count() or 1, lambda line: None)
    check_counts(source, listing.index)
    if source.content and (got := content_digest(source, raw, listing=listing)) != source.content:
        raise DataError(
            f"{source.name}: the archives are intact, but the images or labels are not those of the dataset "
            f"(content digest {got}, expected {source.content})"
        )


def decoded(
    source: Source, raw: Path, listing: Listing, how: How, workers: int, content: bool
) -> Iterator[tuple[int, np.ndarray | CorruptImage, bytes]]:
    """For each row with a valid header: row, pixels, and (with `content`) the digest of its full-size pixels."""
    work = partial(_one, channels=1 if listing.grey else 3, how=how, content=content)
    rows = ((row, record["image"]) for row, record in enumerate(source.images(raw)) if row not in listing.corrupt)
    return ordered(work, rows, workers)


def all_corrupt(source: Source, raw: Path, listing: Listing, workers: int) -> dict[int, str]:
    """Row -> reason for every image that cannot be decoded. (The listing has only those with an invalid header.)"""
    rows = decoded(source, raw, listing, None, workers, False)
    return listing.corrupt | {row: str(pixels) for row, pixels, _ in rows if isinstance(pixels, CorruptImage)}


def _one(
    item: tuple[int, ImageLike], channels: int, how: How, content: bool
) -> tuple[int, np.ndarray | CorruptImage, bytes]:
    row, encoded = item
    try:
        image = decode(encoded, channels)
    except CorruptImage as error:
        return row, error, b""
    own = b""
    if content:
        own = hashlib.sha256(f"{image.height}x{image.width}x{channels}:".encode() + image.tobytes()).digest()
    return row, resize(image, how), own
