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
from dml.data._place import check_apart, check_place
from dml.data._store import load_json, locked, new_folder, save_json
from dml.data._walk import content_of
from dml.data._writing import Content, all_corrupt, decoded, write

PACKING = 1  # a change that alters packed bytes raises it
AGAIN = "delete the folder and pack again"


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
    try:
        shape = tuple(manifest[key] for key in ("images", "height", "width", "channels"))
        late, side, root = manifest["decode"] == "late", manifest["resize"], manifest["root"]
    except (KeyError, TypeError) as error:
        raise DataError(f"{folder}/manifest.json is not that of a packed dataset; pack into another folder") from error
    index = _read(folder / "index.parquet", pd.read_parquet)
    if len(index) != shape[0]:
        raise DataError(f"{folder}: the manifest says {shape[0]} images, index.parquet {len(index)}; {AGAIN}")
    if late:
        return Packed(folder, LateImages([str(Path(root) / p) for p in index["path"]], shape, side), index, manifest)
    images = _read(folder / "images.npy", lambda path: np.lib.format.open_memmap(path, mode="r"))
    if images.shape != shape or images.dtype != np.uint8:
        raise DataError(f"{folder}: the manifest says {shape}, images.npy is {images.dtype} {images.shape}; {AGAIN}")
    if (folder / "images.npy").stat().st_size != images.offset + images.nbytes:
        raise DataError(f"{folder}/images.npy is longer than its header says; {AGAIN}")
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
    """Pack a source's images into the folder `out`, unless the same is there already, and whole.

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
    DataError : corrupt images, images of several sizes without `resize`, wrong counts or content, no space left;
        `out` holds what `pack` did not write, or is or holds the source's own files.
    """
    for key, value, choices in (("on_corrupt", on_corrupt, ("error", "skip")), ("decode", decode, ("early", "late"))):
        if value not in choices:
            raise ValueError(f"{key}: {value!r}. Choices: {', '.join(choices)}")
    raw, out = Path(raw), Path(out)
    asked = {"source": source.name, "options": _plain(options_of(source)), "resize": resize}
    asked |= {"on_corrupt": on_corrupt, "decode": decode, "packing": PACKING}
    check_apart(source, raw, out)
    origin = _origin(source, raw, out)
    with locked(out, report):
        check_place(out)
        there = load_json(out / "manifest.json")
        same = isinstance(there, dict) and asked.items() <= there.items() and load_json(out / "origin.json") == origin
        if same and _whole(out, report):
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
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    content = Content(listing)
    for row, pixels, own in decoded(source, raw, listing, None, workers, True):
        if isinstance(pixels, CorruptImage):
            raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
        content.add(row, own)
    return content.digest.hexdigest()


def _origin(source: Any, raw: Path, out: Path) -> dict[str, str | None]:
    """What the packed bytes come from beside the options: the raw files, and the code that reads and decodes them."""
    try:
        code = Path(inspect.getfile(type(source))).read_bytes()
    except (OSError, TypeError):  # a class typed into an interpreter
        code = b""
    code += Path(_decode.__file__).read_bytes()
    files = source.fingerprint(raw) if hasattr(source, "fingerprint") else content_of(raw, out, "verified.json")
    return {"files": files, "code": hashlib.sha256(code).hexdigest()}


def _whole(folder: Path, report: Callable[[str], None]) -> bool:
    """Whether all that the manifest tells of is there; why not is reported."""
    try:
        open_packed(folder)
    except DataError as error:
        report(f"packing again: {error}")
        return False
    return True


def _read(path: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(path)
    except FileNotFoundError:
        raise DataError(f"{path} is missing; {AGAIN}") from None
    except (OSError, ValueError) as error:  # NumPy's and pyarrow's errors on broken files
        raise DataError(f"{path} cannot be read: {error}; {AGAIN}") from error


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(options, default=str))
