"""Reading what a dataset's archives hold: folders, tables of text, .mat files. What is missing is said by its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dml.data import DataError


def missing(path: Path) -> DataError:
    """The error for raw files that are not there."""
    return DataError(f"{path} is missing: run the download stage, or unpack the dataset's archives there")


def folders(folder: Path) -> list[Path]:
    """Subfolders by name."""
    if not folder.is_dir():
        raise missing(folder)
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def files(folder: Path, suffix: str) -> list[Path]:
    """Files by name, with a suffix such as `.png`, whatever its case."""
    if not folder.is_dir():
        raise missing(folder)
    return sorted(entry for entry in folder.iterdir() if entry.suffix.lower() == suffix and entry.name[0] != ".")


def rows(path: Path, columns: int, header: bool = False) -> Iterator[list[str]]:
    """Rows of a table of text whose columns stand apart by spaces; the last one may hold spaces itself."""
    if not path.is_file():
        raise missing(path)
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip() or (header and number == 1):
                continue
            fields = line.strip().split(" ", columns - 1)
            if len(fields) != columns:
                raise DataError(f"{path}:{number}: expected {columns} columns, got {line.strip()!r}")
            yield fields


def mat(path: Path) -> dict[str, Any]:
    """A MATLAB file of version 7.2 or older."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not path.is_file():
        raise missing(path)
    try:
        return loadmat(path, squeeze_me=True)
    except (MatReadError, ValueError, TypeError, OSError, EOFError, NotImplementedError, IndexError) as error:
        raise DataError(f"{path}: truncated, or no MATLAB file ({error})") from error


def halves(fine: np.ndarray, last: int) -> np.ndarray:
    """`train` for the fine classes up to and including `last`, `test` for the others."""
    return np.where(fine <= last, "train", "test")
