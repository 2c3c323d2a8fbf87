"""Pack a source: decode and resize every image once, into one uint8 array that all processes map read-only.

A packed folder contains `images.npy` (N, H, W, C), `index.parquet` (one row per image) and `manifest.json`. The
manifest's `digest` is the SHA-256 of all pixels, then the fine and the coarse labels (int64, little-endian). The folder
is written beside its place and renamed when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from dml import files
from dml.counting import counted
from dml.data import DataError
from dml.data.packing.decoding import How
from dml.data.packing.listing import some
from dml.data.packing.opening import PIXELS, VECTORS, open_packed
from dml.data.packing.placing import check_apart, check_place, new_folder
from dml.data.packing.vectors import write_vectors
from dml.data.packing.writing import write
from dml.data.raw.walking import content_of
from dml.protocols import Source, VectorSource

version = 2
"""Raised when packing gives other bytes: existing datasets are then packed again. A golden test pins the bytes."""

ON_CORRUPT = ("error", "skip")


def packed_id(source: Source, resize: How = None, on_corrupt: str = "error") -> str:
    """The name of the folder for what `pack` writes: readable, and different for other options or versions."""
    terms = [_plain(source.options), on_corrupt, PIXELS, version, source.version]
    if not (own := type(source)).__module__.startswith("dml."):  # it may have the name of another source
        terms.append(f"{own.__module__}.{own.__qualname__}")
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
    """Pack a source's images into the folder `out`, unless it already contains the complete result.

    Parameters
    ----------
    source : a source, such as `dml.data.sources.build("mnist")`, with its raw files in `raw`. Of vectors, `resize`
        and `on_corrupt` have no effect.
    resize : side of the packed square in pixels, or the fields of a `dml.types.Resize`; None: keep the size, which all
        images must share.
    on_corrupt : `error` lists corrupt images and stops; `skip` leaves them out and lists them in the manifest. A
        missing file is an error with both, unless the source accepts a part of its dataset (`complete` is False).
    workers : threads; None: one per core. The result does not depend on it.

    Returns
    -------
    The manifest: source, source_version, options, resize, on_corrupt, decode, packing (the version), images, height,
    width, channels, digest, skipped (`[{path, reason}]`), content (the digest at full size, if the source states it);
    if there are any, copies (rows of images with the same packed pixels) and lost_classes
    (what to say of classes without an image that can be decoded).

    Raises
    ------
    DataError : corrupt images, missing files, images of several sizes without `resize`, wrong counts or content, no
        space left; `out` contains files that `pack` did not write, or is or contains the source's own files.
    """
    if on_corrupt not in ON_CORRUPT:
        raise ValueError(f"on_corrupt: {on_corrupt!r}. Choices: {', '.join(ON_CORRUPT)}")
    raw, out = Path(raw), Path(out)
    vectors = isinstance(source, VectorSource)
    asked = {"source": source.name, "source_version": source.version, "options": _plain(source.options)}
    asked |= {"resize": resize, "on_corrupt": on_corrupt, "decode": VECTORS if vectors else PIXELS, "packing": version}
    check_apart(source, raw, out)
    origin = {"files": source.fingerprint(raw) or content_of(raw, out)}
    lock = out.with_name(f"{out.name}.lock")
    with files.locked(lock, on_wait=lambda: report(f"{out}: waiting for another process")):
        check_place(out)
        found = files.read_json(out / "manifest.json")
        same = isinstance(found, dict) and asked.items() <= found.items()
        if same and files.read_json(out / "origin.json") == origin and _complete(out, report):
            report(f"{out}: packed already ({counted(found['images'], 'image')})")
            return found
        with new_folder(out) as folder:
            threads = workers or os.cpu_count() or 1
            if vectors:
                made = write_vectors(source, raw, folder, threads, report)
            else:
                made = write(source, raw, folder, asked, threads, report)
            manifest: dict[str, Any] = asked | made
            files.write_json(folder / "origin.json", origin)
            files.write_json(folder / "manifest.json", manifest)
    skipped = [f"{entry['path']} ({entry['reason']})" for entry in manifest["skipped"]]
    named = f": {some(skipped)}" if skipped else ""
    if "lost_classes" in manifest:
        report(f"{source.name}: {manifest['lost_classes']}")
    report(f"{out}: {counted(manifest['images'], 'image')} packed, {len(skipped)} skipped{named}")
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
