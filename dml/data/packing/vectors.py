"""Pack vectors in place of images: the same folder, with images of one pixel and D channels of floats."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dml.data import DataError
from dml.data.packing.listing import alike_names, list_images
from dml.data.packing.opening import VECTORS
from dml.data.packing.streaming import ProgressLine
from dml.data.raw.space import check_space
from dml.protocols import Source, VectorSource

CHUNK = 4096  # vectors


def of_vectors(manifest: Mapping[str, Any]) -> bool:
    """Whether a packed folder contains vectors in place of images."""
    return manifest.get("decode") == VECTORS


def write_vectors(
    source: Source, raw: Path, folder: Path, workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write `images.npy`, float16 or float32 (N, 1, 1, D), and `index.parquet` into `folder`.

    Returns
    -------
    What the manifest says of the result, as for images.

    Raises
    ------
    DataError : a vector is infinite or NaN, or there are more or fewer vectors than labels.
    """
    assert isinstance(source, VectorSource)
    index, vectors = list_images(source, raw, workers, report).index, source.vectors(raw)
    if len(vectors) != len(index):
        raise DataError(f"{source.name}: {len(vectors)} vectors, but {len(index)} labels: expected one label a vector")
    if alike := alike_names(index):
        report(f"{source.name}: {alike}")
    kind = np.dtype(np.float16 if vectors.dtype == np.float16 else np.float32)
    shape = (len(index), 1, 1, vectors.shape[1])
    check_space(folder, shape[0] * shape[3] * kind.itemsize, source.name)
    digest, progress = hashlib.sha256(), ProgressLine(f"packing {source.name}", len(index), report)
    images = np.lib.format.open_memmap(folder / "images.npy", mode="w+", dtype=kind, shape=shape)
    for start in range(0, len(index), CHUNK):
        with np.errstate(over="ignore"):
            part = np.ascontiguousarray(vectors[start : start + CHUNK], dtype=kind)
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            raise DataError(f"{source.name}: vector {start + int(bad[0])} (from 0) contains infinity or NaN")
        images[start : start + CHUNK, 0, 0] = part
        digest.update(part.tobytes())
        progress(start + len(part))
    images.flush()
    index.to_parquet(folder / "index.parquet", index=False)
    for level in ("fine", "coarse"):
        digest.update(index[level].to_numpy("<i8").tobytes())
    return {
        "images": shape[0],
        "height": 1,
        "width": 1,
        "channels": shape[3],
        "digest": digest.hexdigest(),
        "content": None,
        "skipped": [],
    }
