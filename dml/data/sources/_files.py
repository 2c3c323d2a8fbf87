"""Read the contents of a dataset's archives: folders, text tables, .mat files. Errors name the path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from dml.data import DataError
from dml.data.packing import check_content
from dml.data.raw import Archive, fetch

Entry = TypeVar("Entry")


def missing(path: Path) -> DataError:
    """The error for missing raw files."""
    return DataError(f"{path} is missing: run the download stage, or unpack the dataset's archives there")


def folders(folder: Path) -> list[Path]:
    """Subfolders in the order of names."""
    if not folder.is_dir():
        raise missing(folder)
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def files(folder: Path, suffix: str) -> list[Path]:
    """Files in the order of names, with a suffix such as `.png` in any case."""
    if not folder.is_dir():
        raise missing(folder)
    return sorted(entry for entry in folder.iterdir() if entry.suffix.lower() == suffix and entry.name[0] != ".")


def rows(path: Path, columns: int, header: bool = False) -> Iterator[list[str]]:
    """Rows of a text table whose columns are separated by spaces. The last column may contain spaces."""
    if not path.is_file():
        raise missing(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected text in UTF-8 ({error})") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (header and number == 1):
            continue
        fields = line.strip().split(" ", columns - 1)
        if len(fields) != columns:
            raise DataError(f"{path}:{number}: expected {columns} columns, got {line.strip()!r}")
        yield fields


def entry(table: Mapping[str, Entry], key: str, path: Path) -> Entry:
    """The row for `key` in a text table read from `path`."""
    if key not in table:
        raise DataError(f"{path}: expected a row for {key!r}, none of the {len(table)} rows has it")
    return table[key]


def label(value: Any, classes: int, where: object, first: int = 1) -> int:
    """A raw label, from a text or an array, counted from 0. Raises DataError."""
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
    """A MATLAB file of version 7.2 or older, which must have these variables."""
    from scipy.io import loadmat

    if not path.is_file():
        raise missing(path)
    try:
        content = loadmat(path, squeeze_me=True)
    except Exception as error:  # of many kinds
        raise DataError(f"{path}: truncated, or not a MATLAB file ({error})") from error
    if absent := [name for name in variables if name not in content]:
        held = ", ".join(name for name in content if not name.startswith("__")) or "none"
        raise DataError(
            f"{path}: expected the variables {', '.join(variables)}; it lacks {', '.join(absent)}, has {held}"
        )
    return content


def structs(content: Mapping[str, Any], variable: str, path: Path, *fields: str) -> np.ndarray:
    """A variable of a MATLAB file as an array of structs, at least 1-d, which must have these fields."""
    array = np.atleast_1d(content[variable])
    held = array.dtype.names or ()
    if not set(fields) <= set(held):
        raise DataError(
            f"{path}: expected {variable} to be structs with the fields {', '.join(fields)}; it has "
            f"{', '.join(held) or 'none'}"
        )
    return array


def halves(fine: np.ndarray, last: int) -> np.ndarray:
    """`train` for the fine classes up to `last`, inclusive, `test` for the others."""
    return np.where(fine <= last, "train", "test")


class SourceDefaults:
    """One label level, nothing to fetch, nothing to check."""

    mirrors: ClassVar[bool] = True
    levels: ClassVar[tuple[str, ...]] = ("fine",)
    disjoint: str = "fine"
    archives: Sequence[Archive] = ()
    complete: bool = True
    counts: Mapping[str, Mapping[str, int]] = {}
    content: str | None = None
    shape: ClassVar[tuple[int, int, int] | None] = None  # height, width and channels of all its images, if known
    root: str | Path | None = None
    file_settings: ClassVar[Sequence[str]] = ()
    own_labels: ClassVar[bool] = False

    def fingerprint(self, raw: Path) -> str | None:
        """None: all files are in the raw folder."""
        return None


class FetchedSource(SourceDefaults):
    """A source whose `archives` are fetched, or taken from `raw` or a mirror, verified and unpacked."""

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete
        self.options: dict[str, Any] = {"complete": complete}

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch, verify and unpack the archives into `raw`."""
        fetch(self, raw, check_content, report)
