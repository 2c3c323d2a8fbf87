"""Open a packed folder: map its array, read its index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import files
from dml.data import DataError

PIXELS, VECTORS = "eager", "vectors"  # `decode` of a manifest
VECTOR_TYPES = (np.float16, np.float32)
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
        kinds = VECTOR_TYPES if manifest["decode"] == VECTORS else (np.uint8,)
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
