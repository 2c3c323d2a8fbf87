"""Packing: every image is decoded and resized once, into one uint8 array that all processes map read-only.

A packed folder holds `images.npy` (N, H, W, C), `index.parquet` (one row an image) and `manifest.json`. Its `digest` is
the SHA-256 of all pixels, then the fine and the coarse labels (int64, little-endian). It is written beside its place
and renamed whole. With `decode="late"` there is no `images.npy`: files are decoded when their rows are asked for.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from dml.data import DataError, _decode
from dml.data._decode import CorruptImage
from dml.data._late import LateImages
from dml.data._listing import corrupt_error, list_images, options_of
from dml.data._store import load_json, locked, new_folder, save_json
from dml.data._writing import Content, decoded, write

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
    origin = _origin(source, raw)
    with locked(out, report):
        there = load_json(out / "manifest.json")
        if there and asked.items() <= there.items() and load_json(out / "origin.json") == origin:
            report(f"{out}: packed already ({there['images']} images)")
            return there
        with new_folder(out) as folder:
            manifest = asked | write(source, raw, folder, asked, workers or os.cpu_count() or 1, report)
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
    content = Content(listing)
    for row, pixels, own in decoded(source, raw, listing, None, workers, True):
        if isinstance(pixels, CorruptImage):
            raise corrupt_error(listing.index, {row: str(pixels)})
        content.add(row, own)
    return content.digest.hexdigest()


def _origin(source: Any, raw: Path) -> dict[str, str | None]:
    """What the packed bytes come from beside the options: a user's files, and the code that reads and decodes them."""
    try:
        code = Path(inspect.getfile(type(source))).read_bytes()
    except (OSError, TypeError):  # a class typed into an interpreter
        code = b""
    code += Path(_decode.__file__).read_bytes()
    files = source.fingerprint(raw) if hasattr(source, "fingerprint") else None
    return {"files": files, "code": hashlib.sha256(code).hexdigest()}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(options, default=str))
