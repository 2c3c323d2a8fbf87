"""Read a user's table of images, CSV or Parquet, into records. Errors name the row."""

from __future__ import annotations

import os
import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import discovery
from dml.counting import counted
from dml.data import DataError
from dml.data.packing.packer import finite_chunks
from dml.data.raw import is_image
from dml.data.sources._splits import kind_of
from dml.data.splits import ROLES
from dml.files import first_line, is_lfs_pointer
from dml.tables import integer, is_table, number, read_rows

SPELLINGS = (re.compile(r"0|-?[1-9][0-9]*"), re.compile(r"-?(0|[1-9][0-9]*)\.0"))
"""Integers as text: as programs write them, and as they write a column of floats. `007`, `1e5` and ` 7` are names."""


def labels(values: Sequence[Any], name: str, where: Sequence[str]) -> tuple[list[int], list[str]]:
    """A column of labels as numbers and names. Numbers are kept; names are numbered in sorted order."""
    for row, value in enumerate(values):
        if pd.isna(value) or (isinstance(value, str) and not value.strip()):
            raise DataError(f"{where[row]}: {name} is missing")
    if _are_numbers(values):
        numbers = [integer(value, name, where[row]) for row, value in enumerate(values)]
        return numbers, [str(number) for number in numbers]
    order = {text: number for number, text in enumerate(sorted({str(value) for value in values}))}
    if padded := [text for text in order if text != text.strip() and text.strip() in order]:
        raise DataError(f"{name}: {padded[0]!r} and {padded[0].strip()!r} differ by spaces alone: write one of them")
    return [order[str(value)] for value in values], [str(value) for value in values]


def _are_numbers(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    others = all(isinstance(value, str) or number(value) is not None for value in values)
    return others and any(all(spelling.fullmatch(text) for text in texts) for spelling in SPELLINGS)


COLUMNS = ("path", "fine", "given", "coarse", "split", "camera")
FILES = ("file", "filename", "file_name", "filepath", "image", "image_path", "img")
TEXTS = ("text", "sentence", "title", "name", "id")
USUAL = {
    "path": (*FILES, *TEXTS),
    "fine": ("label", "labels", "class", "category", "species", "target", "identity"),
}
"""Names that other tables give to a column."""


def check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The option `columns`: what the table calls some of COLUMNS. Raises ValueError."""
    for name, column in (columns or {}).items():
        if name not in COLUMNS:
            raise ValueError(f"columns: unknown column {name!r}{discovery.suggestion(str(name), COLUMNS)}")
        if not isinstance(column, str):
            raise ValueError(f"columns: {name}: expected the name of a column, got {column!r}")
    return dict(columns or {})


def read_table(
    path: Path, required: tuple[str, ...] = ("path", "fine"), columns: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Records of `path`, `fine`, `fine_name`, and if the table has them, `coarse`, `coarse_name`, `part`, `camera`.

    Without a column `path`, where it is not required, the row's place from 0 stands for it. Where it is not required,
    it may be any text, and several rows may have the same. With a column `given` beside `fine`, records have
    `given_fine`, and `given_coarse` if there are coarse labels. Without `fine`, the given labels take its place, and
    records have `verified: False`. Other columns are ignored. `required`: columns without which there are no records.
    `columns`: what the table calls some of COLUMNS, such as `{"fine": "label"}`. Raises DataError: the table cannot be
    read; a column is missing; a path is empty or repeated; a label is missing, negative, not an integer, or too large;
    a given label is not one of the verified ones.
    """
    table, numbers, others = _chosen(path, columns or {})
    for name in required:
        if name not in table and not (name == "fine" and "given" in table):
            likely = next((column for column in others if column.lower() in USUAL.get(name, ())), "...")
            raise DataError(
                f"{path}: no column {name!r}. Choices: {', '.join(others) or 'none'}. "
                f"`settings: {{columns: {{{name}: {likely}}}}}` reads another column as {name!r}"
                + "; vectors are a column for each number, a Parquet column of lists, or .npy"
                * (name == "path")
            )
    if table.empty:
        raise DataError(f"{path}: no rows")
    if "path" not in table:
        table["path"] = [str(place) for place in range(len(table))]
    where = [f"{path}: row {number}" for number in numbers]
    seen: dict[str, int] = {}
    for row, value in enumerate(table["path"].tolist()):
        if "path" not in required:
            continue  # a text, which another row may have too
        if not isinstance(value, str) or not value.strip():
            hint = " (the source huggingface reads images inside a table)" if isinstance(value, Mapping) else ""
            raise DataError(f"{where[row]}: path is {value!r:.80}, expected a file's path{hint}")
        first = seen.setdefault(posixpath.normpath(value), row)
        if first != row:
            spelt = "" if (other := table["path"].iloc[first]) == value else f" as {other!r}"
            raise DataError(f"{where[row]}: {value!r:.80} is repeated, first in row {numbers[first]}{spelt}")
    verified = "fine" in table
    fine = "fine" if verified else "given"
    levels = {"fine": labels(table[fine].tolist(), fine, where)}
    if "coarse" in table:
        levels["coarse"] = labels(table["coarse"].tolist(), "coarse", where)
    given = _given(table, levels, where) if verified and "given" in table else {}
    parts = _parts(table["split"].tolist(), where) if "split" in table else None
    for row, image in enumerate(table["path"].tolist()):
        record: dict[str, Any] = {"path": str(image)}
        for name, (classes, names) in levels.items():
            record |= {name: classes[row], f"{name}_name": names[row]}
        record |= {name: values[row] for name, values in given.items()}
        if not verified:
            record["verified"] = False
        if parts is not None:
            record["part"] = parts[row]
        if "camera" in table:
            record["camera"] = integer(table["camera"].iloc[row], "camera", where[row])
        yield record


def _given(
    table: pd.DataFrame, levels: dict[str, tuple[list[int], list[str]]], where: list[str]
) -> dict[str, list[int]]:
    """The given labels by level, numbered as the verified ones."""
    verified, names = levels["fine"]
    number = dict(zip(names, verified, strict=True))
    _, given = labels(table["given"].tolist(), "given", where)
    for row, value in enumerate(given):
        if value not in number:
            choices = discovery.suggestion(value, sorted(number))
            raise DataError(f"{where[row]}: given is {value!r}, which is no verified label{choices}")
    labels_by_level = {"given_fine": [number[value] for value in given]}
    if "coarse" in levels:
        group: dict[int, int] = {}
        for row, (one, other) in enumerate(zip(verified, levels["coarse"][0], strict=True)):
            if group.setdefault(one, other) != other:
                raise DataError(
                    f"{where[row]}: {names[row]!r} is in two coarse classes, so that of a given label is unknown"
                )
        labels_by_level["given_coarse"] = [group[value] for value in labels_by_level["given_fine"]]
    return labels_by_level


def columns_of(path: Path, images: bool) -> dict[str, str]:
    """What a table calls its labels, and its rows' paths or (but for images) texts, where that is a usual name."""
    called = {column.lower(): column for column in read_rows(path)[0] if not images or column.lower() not in TEXTS}
    usual = {name: [called[spelling] for spelling in names if spelling in called] for name, names in USUAL.items()}
    labelled = "fine" in called or "given" in called
    usual |= {"fine": [] if labelled else usual["fine"], "path": [] if "path" in called else usual["path"]}
    return {name: columns[0] for name, columns in usual.items() if columns}


def table_of(vectors: Path) -> Path | None:
    """The table whose rows belong to vectors: their own file, or a `.csv` beside an array if it has as many rows."""
    beside = vectors if is_table(vectors) else vectors.with_suffix(".csv")
    if beside == vectors or not beside.is_file():
        return beside if beside == vectors else None
    return beside if len(read_rows(beside)[0]) == len(read_vectors(vectors)) else None


def table_not_used(vectors: Path) -> str:
    """What to tell a user of a `.csv` beside an array that is not its table; "" if there is none."""
    beside = vectors.with_suffix(".csv")
    if is_table(vectors) or not beside.is_file():
        return ""
    rows, count = len(read_rows(beside)[0]), len(read_vectors(vectors))
    return f"{beside.name} beside it is not used: it has {rows} rows, {vectors.name} {count} vectors"


def row_names(table: Path | None, count: int, column: str | None = None) -> list[str]:
    """The path or text of each of `count` rows; `row 3` without a column of them."""
    rows = pd.DataFrame() if table is None else read_rows(table)[0]
    if table is not None and len(rows) != count:
        raise DataError(f"{table}: expected {counted(count, 'row')}, one for each vector, got {len(rows)}")
    called = {str(name).lower(): name for name in rows}
    usual = (called[name] for name in ("path", *USUAL["path"]) if name in called)
    column = column if column in rows else next(usual, None)
    return [f"row {row}" for row in range(count)] if column is None else [str(name) for name in rows[column]]


def unused_columns(path: Path, columns: Mapping[str, str] | None = None) -> str:
    """What to tell the user of a table's other columns; "" if there are none. Raises as `read_table`."""
    _, _, others = _chosen(path, columns or {})
    return f"{path}: columns that are not used: {', '.join(others)}" if others else ""


def _chosen(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[int], list[str]]:
    """The known columns of a table, the numbers of its rows, and the names of its other columns."""
    table, numbers = read_rows(path)
    called = list(table.columns)
    for name, column in columns.items():
        if column.strip() not in called:
            raise DataError(f"{path}: columns: {name}: no column {column!r}{discovery.suggestion(column, called)}")
    columns_read = {name: column for name in COLUMNS if (column := columns.get(name, name).strip()) in called}
    others = [column for column in called if column not in columns_read.values()]
    return pd.DataFrame({name: table[column] for name, column in columns_read.items()}), numbers, others


def _parts(values: list[Any], where: list[str]) -> list[str]:
    """The part of each row: a role; or if some rows are of a validation split, the split as folders have it, `val/`."""
    parts = []
    for row, value in enumerate(values):
        name = str(value).strip().lower()
        part = name if name in ROLES else kind_of(name)
        if part is None:
            raise DataError(f"{where[row]}: split is {value!r}{discovery.suggestion(str(value), (*ROLES, 'val'))}")
        parts.append(part)
    return [f"{part}/" for part in parts] if "validation" in parts else parts


LABELS = (*COLUMNS, *USUAL["fine"], *USUAL["path"], "index")  # columns that are no dimensions
NAMES = ("features", "embeddings", "vectors")  # of the array in a .npz with several
SUFFIXES = (".npy", ".npz", ".parquet", ".csv")
FLOATS = (np.float16, np.float32, np.float64)
NO_POINT = r"(?i)\s*[-+]?(\d*,\d+|nan)\s*"  # numbers that pandas does not read, or reads as missing


def read_vectors(path: Path, labels: Collection[str] = LABELS) -> np.ndarray:
    """float16, float32 or float64 (n, D). An `.npy` is mapped, not read. Raises DataError."""
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
    if vectors.dtype not in FLOATS:
        raise DataError(f"{path}: expected vectors of type float16, float32 or float64, got {vectors.dtype}")
    if vectors.ndim != 2 or not vectors.size:
        raise DataError(f"{path}: expected vectors of shape (n, D), got {vectors.shape}")
    return vectors


FEW = 8  # numbers beside images: a box, a place, sizes. Embeddings have more


def has_vectors(path: Path, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a file contains vectors, and not the paths of images. Errors of vectors are said when they are read.

    `columns`: as of `read_table`.
    """
    if not is_table(path):
        return path.suffix.lower() in SUFFIXES
    try:
        table, _ = read_rows(path)
    except DataError:
        return False
    if _lists(table):
        return True
    columns = columns or {}
    paths = [columns["path"]] if "path" in columns else ["path", *USUAL["path"]]
    numbers = [name for name in _others(table, (*LABELS, *columns.values())) if _mostly_numbers(table[name])]
    for name in table if len(table) else ():
        first, usual = str(table[name].iloc[0]), name.lower() in map(str.lower, paths)
        if (is_image(Path(first)) and (usual or len(numbers) < FEW)) or (usual and os.path.isfile(path.parent / first)):
            return False
    return len(numbers) > (2 if all(_whole(table[name]) for name in numbers) else 1)  # two: such as width and height


def check_finite(path: Path, vectors: np.ndarray) -> None:
    """Raise DataError for a vector that is not finite in float32, in which it is stored."""
    for _ in finite_chunks(path, vectors):
        pass


def _of_numpy(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    with np.load(path, allow_pickle=False) as content:
        names = content.files if len(content.files) == 1 else [name for name in content.files if name in NAMES]
        if len(names) != 1:
            has = ", ".join(content.files) or "none"
            raise DataError(f"{path}: expected one array, or one called {', '.join(NAMES)}; it has {has}")
        return content[names[0]]


def _of_table(path: Path, labels: Collection[str]) -> np.ndarray:
    """The one column of lists, or else all columns of floats; of a CSV, of numbers, which may all be whole."""
    table, rows = read_rows(path)
    if len(lists := _lists(table)) == 1:
        values = table[lists[0]].tolist()
        lengths = {len(row) if isinstance(row, np.ndarray | list) else -1 for row in values}
        if len(lengths) != 1 or -1 in lengths:
            raise DataError(f"{path}: column {lists[0]!r}: expected lists of equal length")
        return np.stack(values)
    csv = path.suffix.lower() == ".csv"
    others = _others(table, labels)
    numbers = [name for name in others if (_mostly_numbers(table[name]) if csv else table[name].dtype.kind != "O")]
    if lists or not numbers:
        raise DataError(f"{path}: expected one column of lists, or columns of floats; got {', '.join(table.columns)}")
    whole = [name for name in numbers if _whole(table[name])] if csv else []
    kinds = {name: "of whole numbers, others are not" for name in whole if len(whole) < len(numbers)}
    kinds |= {} if csv else {name: str(kind) for name, kind in table[numbers].dtypes.items() if kind not in FLOATS}
    for name, kind in kinds.items():
        if not csv or table[name].nunique() > 1:  # a dimension that is 0 may be written so
            raise DataError(
                f"{path}: column {name!r} is {kind}: expected one column of lists, or only columns of floats (1.0) "
                f"beside text and {', '.join(sorted(labels))}"
            )
    if not csv:
        return table[numbers].to_numpy()
    return np.stack([_floats(path, table[name], rows) for name in numbers], axis=1)


def _lists(table: pd.DataFrame) -> list[str]:
    return [name for name in table if isinstance(table[name].iloc[0] if len(table) else None, np.ndarray | list)]


def _others(table: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """The columns that may be dimensions: not labels, nor the numbers of rows that pandas writes without a name."""
    left_out = {name.lower() for name in labels}
    return [name for name in table if name.lower() not in left_out and not re.fullmatch(r"(Unnamed: \d+)?", name)]


def _mostly_numbers(column: pd.Series) -> bool:
    """Whether more than half of a column are numbers, some with a decimal comma."""
    if column.dtype.kind != "O":
        return column.dtype.kind == "f"
    others = column[pd.to_numeric(column, errors="coerce").isna()]
    return 2 * sum(re.fullmatch(NO_POINT, str(text)) is None for text in others) < len(column)


def _whole(column: pd.Series) -> bool:
    """Whether a column of text is of numbers without a point."""
    return column.dtype.kind == "O" and bool(column.str.fullmatch(r"\s*[-+]?\d+\s*").all())


def _floats(path: Path, column: pd.Series, rows: Sequence[int]) -> np.ndarray:
    """A column of text as float32 (n,)."""
    numbers = pd.to_numeric(column, errors="coerce")
    for row in np.flatnonzero(numbers.isna()).tolist():
        if not re.fullmatch(r"\s*[-+]?nan\s*", column.iloc[row], re.IGNORECASE):
            raise DataError(
                f"{path}: row {rows[row]}: {column.name} is {column.iloc[row]!r}, expected a number, with a point for "
                "decimals"
            )
    return numbers.to_numpy(np.float32)
