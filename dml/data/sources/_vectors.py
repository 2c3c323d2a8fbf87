"""Read a user's vectors: .npy, .npz, Parquet or CSV."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import is_image
from dml.data.sources._table import COLUMNS, USUAL
from dml.files import first_line, is_lfs_pointer
from dml.tables import is_table, read_rows

LABELS = (*COLUMNS, *USUAL["fine"], "index")  # columns of labels
NAMES = ("features", "embeddings", "vectors")  # of the array in a .npz with several
SUFFIXES = (".npy", ".npz", ".parquet", ".csv")
CHUNK = 8192  # vectors that are looked at together


def read_vectors(path: Path, labels: Collection[str] = LABELS) -> np.ndarray:
    """float16, float32 or float64 (n, D). An `.npy` is mapped, not read.

    A `.npz` contains one array, or several of which one is called `features`, `embeddings` or `vectors`. A table has
    one column of lists of equal length, or one column of floats for each dimension. Columns of text are no dimensions.

    Parameters
    ----------
    labels : columns of numbers that are no dimensions either.

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
        vectors = _of_table(path, labels) if is_table(path) else _of_numpy(path)
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


def has_vectors(path: Path, labels: Iterable[str] = ()) -> bool:
    """Whether a file contains vectors. Errors of an array are said when it is read.

    A table of images may have columns of numbers too, such as their sizes.
    """
    if not is_table(path):
        return path.suffix.lower() in SUFFIXES
    try:
        table, _ = read_rows(path)
        first = table.iloc[0] if len(table) else {}
        if any(isinstance(value, np.ndarray | list) for value in dict(first).values()):
            return True
        images = any(is_image(Path(str(first[name]))) for name in ("path", *USUAL["path"]) if name in table)
        return not images and read_vectors(path, (*LABELS, *labels)).shape[1] > 1
    except DataError:
        return False


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


def _of_table(path: Path, labels: Collection[str]) -> np.ndarray:
    """The one column of lists, or else all columns of floats; of a CSV, whose numbers may be whole, of numbers."""
    csv = path.suffix.lower() == ".csv"
    table = pd.read_csv(path, sep=None, engine="python") if csv else pd.read_parquet(path)
    table.columns = [str(name).strip() for name in table.columns]
    lists = [name for name in table if isinstance(table[name].iloc[0] if len(table) else None, np.ndarray | list)]
    if len(lists) == 1:
        rows = table[lists[0]].tolist()
        lengths = {len(row) if isinstance(row, np.ndarray | list) else -1 for row in rows}
        if len(lengths) != 1 or -1 in lengths:
            raise DataError(f"{path}: column {lists[0]!r}: expected lists of equal length")
        return np.stack(rows)
    others = table[[name for name in table if name not in labels and table[name].dtype.kind != "O"]]
    for name, kind in others.dtypes.items():
        if kind not in (np.float16, np.float32, np.float64, *([np.dtype(np.int64)] if csv else [])):
            raise DataError(
                f"{path}: column {name!r} is {kind}: expected one column of lists, or only columns of floats beside "
                f"text and {', '.join(sorted(labels))}"
            )
    if lists or not others.shape[1]:
        raise DataError(f"{path}: expected one column of lists, or columns of floats; got {', '.join(table.columns)}")
    return others.to_numpy(np.float32) if csv else others.to_numpy()
