"""Reading what a dataset's archives hold: folders, tables of text, .mat files. What is missing is said by its path."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from dml.data import DataError

Entry = TypeVar("Entry")


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
        for number, line in enumerate(_lines(file, path), start=1):
            if not line.strip() or (header and number == 1):
                continue
            fields = line.strip().split(" ", columns - 1)
            if len(fields) != columns:
                raise DataError(f"{path}:{number}: expected {columns} columns, got {line.strip()!r}")
            yield fields


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected text in UTF-8 ({error})") from error


def entry(table: Mapping[str, Entry], key: str, path: Path) -> Entry:
    """What a table of text, read from `path`, says of `key`."""
    if key not in table:
        raise DataError(f"{path}: expected a row for {key!r}, there is none among its {len(table)}")
    return table[key]


def label(value: Any, classes: int, where: object, first: int = 1) -> int:
    """A raw label, of a text or an array, counted from 0.

    Parameters
    ----------
    classes : how many there are.
    where : file and row, for the error.
    first : the raw labels' first.

    Raises
    ------
    DataError : it is no integer from `first` to `first + classes - 1`.
    """
    try:
        number = int(value)
        whole = isinstance(value, str) or bool(number == value)
    except (ValueError, TypeError, OverflowError):
        number, whole = 0, False
    if not whole or not first <= number < first + classes:
        raise DataError(
            f"{where}: the label is {value!r:.80}, expected an integer from {first} to {first + classes - 1}"
        )
    return number - first


def mat(path: Path, *variables: str) -> dict[str, Any]:
    """A MATLAB file of version 7.2 or older, which has these variables."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not path.is_file():
        raise missing(path)
    try:
        content = loadmat(path, squeeze_me=True)
    except (
        MatReadError,
        zlib.error,
        ValueError,
        TypeError,
        OSError,
        EOFError,
        NotImplementedError,
        LookupError,
    ) as error:
        raise DataError(f"{path}: truncated, or no MATLAB file ({error})") from error
    if absent := [name for name in variables if name not in content]:
        held = ", ".join(name for name in content if not name.startswith("__")) or "none"
        raise DataError(
            f"{path}: expected the variables {', '.join(variables)}; it lacks {', '.join(absent)}, has {held}"
        )
    return content


def structs(content: Mapping[str, Any], variable: str, path: Path, *fields: str) -> np.ndarray:
    """A variable of a MATLAB file that is an array of structs with these fields, at least 1-d."""
    array = np.atleast_1d(content[variable])
    held = array.dtype.names or ()
    if not set(fields) <= set(held):
        raise DataError(
            f"{path}: expected {variable} to be structs with the fields {', '.join(fields)}; it has "
            f"{', '.join(held) or 'none'}"
        )
    return array


def halves(fine: np.ndarray, last: int) -> np.ndarray:
    """`train` for the fine classes up to and including `last`, `test` for the others."""
    return np.where(fine <= last, "train", "test")
