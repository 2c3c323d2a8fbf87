"""Read a user's vectors: .npy, .npz or Parquet."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.files import first_line, is_lfs_pointer

NAMES = ("features", "embeddings", "vectors")  # of the array in a .npz with several
SUFFIXES = (".npy", ".npz", ".parquet")
CHUNK = 8192  # vectors that are looked at together


def read_vectors(path: Path) -> np.ndarray:
    """float16, float32 or float64 (n, D). An `.npy` is mapped, not read.

    A `.npz` contains one array, or several of which one is called `features`, `embeddings` or `vectors`. A Parquet
    file has one column of lists of equal length, or one column of floats for each dimension.

    Raises
    ------
    DataError : a file of another kind, one that cannot be read, or an array of another shape or type.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{path}: expected a file {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if not path.is_file():
        raise DataError(f"vectors is {str(path)!r}, which is not a file (from {Path.cwd()})")
    if is_lfs_pointer(path):
        raise DataError(f"{path}: is a git-LFS pointer, not the file: run `git lfs pull`")
    try:
        vectors = _of_parquet(path) if path.suffix.lower() == ".parquet" else _of_numpy(path)
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = first_line(error)
        if "pickle" in reason:  # NumPy's message advises to run the file's code
            reason = "it holds Python objects, or no array"
        raise DataError(f"{path}: cannot be read: {reason}") from error
    if vectors.dtype not in (np.float16, np.float32, np.float64):
        raise DataError(f"{path}: expected vectors of type float16, float32 or float64, got {vectors.dtype}")
    if vectors.ndim != 2 or not vectors.size:
        raise DataError(f"{path}: expected vectors of shape (n, D), got {vectors.shape}")
    return vectors


def check_finite(path: Path, vectors: np.ndarray) -> None:
    """Raise DataError for a vector that is not finite in float32, in which it is stored."""
    for start in range(0, len(vectors), CHUNK):
        with np.errstate(over="ignore"):
            part = np.asarray(vectors[start : start + CHUNK], dtype=np.float32)
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            raise DataError(f"{path}: vector {start + int(bad[0])} (from 0) contains infinity or NaN")


def _of_numpy(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    with np.load(path, allow_pickle=False) as content:
        found = content.files if len(content.files) == 1 else [name for name in content.files if name in NAMES]
        if len(found) != 1:
            has = ", ".join(content.files) or "none"
            raise DataError(f"{path}: expected one array, or one called {', '.join(NAMES)}; it has {has}")
        return content[found[0]]


def _of_parquet(path: Path) -> np.ndarray:
    table = pd.read_parquet(path)
    if table.shape[1] == 1 and table.dtypes.iloc[0].kind == "O":
        rows = table.iloc[:, 0].tolist()
        lengths = {len(row) if isinstance(row, np.ndarray) else -1 for row in rows}
        if len(lengths) != 1 or -1 in lengths:
            raise DataError(f"{path}: column {table.columns[0]!r}: expected lists of equal length")
        return np.stack(rows)
    for name, kind in table.dtypes.items():
        if kind not in (np.float16, np.float32, np.float64):
            raise DataError(
                f"{path}: column {name!r} is {kind}: expected one column of lists, or only columns of floats"
            )
    return table.to_numpy()
