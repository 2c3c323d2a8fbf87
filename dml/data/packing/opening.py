"""Open a packed folder: map its array, read its index."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import files
from dml.data import DataError
from dml.data.packing.lazy import LazyImages
from dml.data.shards.cache import ShardCache
from dml.data.shards.images import PLACES, ShardedImages
from dml.data.shards.layout import TABLE, ShardTable

CACHE = "DML_SHARD_CACHE"  # the environment's variable for another folder of the cache
VECTORS = "vectors"  # in place of the way of decoding, in the manifest of vectors
VECTOR_TYPES = (np.float16, np.float32)
AGAIN = "delete the folder and pack again"


@dataclass(frozen=True)
class Packed:
    """A packed dataset. It pickles as its folder: a worker process maps the same file."""

    folder: Path
    images: Any  # uint8 (N, H, W, C), read-only: `images[rows]`; of vectors, float (N, 1, 1, D)
    index: pd.DataFrame
    manifest: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_packed, (self.folder,)


def open_packed(folder: Path | str) -> Packed:
    """Open a packed folder. The images are mapped; only the index is read.

    Raises
    ------
    DataError : there is no packed dataset, or its files differ from its manifest.
    """
    folder = Path(folder)
    manifest = files.read_json(folder / "manifest.json")
    if manifest is None:
        raise DataError(f"{folder}: no packed dataset here (run the pack stage)")
    try:
        shape = tuple(manifest[key] for key in ("images", "height", "width", "channels"))
        lazy, how, root = manifest["decode"] == "lazy", manifest["resize"], manifest["root"]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{folder}/manifest.json does not describe a packed dataset; pack into another folder"
        ) from error
    index = _read(folder / "index.parquet", pd.read_parquet)
    if len(index) != shape[0]:
        raise DataError(f"{folder}: the manifest says {shape[0]} images, index.parquet {len(index)}; {AGAIN}")
    if "shards" in manifest:
        return Packed(folder, _sharded(folder, shape, manifest), index, manifest)
    if lazy:
        return Packed(folder, LazyImages([str(Path(root) / p) for p in index["path"]], shape, how), index, manifest)
    images = _read(folder / "images.npy", lambda path: np.lib.format.open_memmap(path, mode="r"))
    kinds = VECTOR_TYPES if manifest["decode"] == VECTORS else (np.uint8,)
    if images.shape != shape or images.dtype not in kinds:
        raise DataError(f"{folder}: the manifest says {shape}, images.npy is {images.dtype} {images.shape}; {AGAIN}")
    if (folder / "images.npy").stat().st_size != images.offset + images.nbytes:
        raise DataError(f"{folder}/images.npy is longer than its header says; {AGAIN}")
    return Packed(folder, images, index, manifest)


def _sharded(folder: Path, shape: tuple[int, ...], manifest: dict[str, Any]) -> ShardedImages:
    """The images of a folder that `shard_packed` wrote. The cache is beside the folder of packed data."""
    asked = manifest["shards"]
    for name in (TABLE, PLACES):
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing; {AGAIN}")
    table = ShardTable.read(folder, asked["storage"] or str(folder.resolve() / "shards"), shape[1:], asked["kind"])
    if asked["storage"] is None:
        return ShardedImages(folder, table)
    place = Path(os.environ.get(CACHE) or folder.resolve().parent.parent / "cache")
    return ShardedImages(folder, table, ShardCache(place, asked["cache"], table))


def _read(path: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(path)
    except FileNotFoundError:
        raise DataError(f"{path} is missing; {AGAIN}") from None
    except (OSError, ValueError) as error:  # NumPy's and pyarrow's errors for broken files
        raise DataError(f"{path} cannot be read: {error}; {AGAIN}") from error
