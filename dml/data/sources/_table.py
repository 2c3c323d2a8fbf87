"""Read a user's table of images, CSV or Parquet, into records. Errors name the row."""

from __future__ import annotations

import csv
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dml import discovery
from dml.data import DataError
from dml.data.raw import state_of
from dml.data.sources._labels import integer, labels, look_like_numbers

ROLES = ("train", "seen", "test", "query", "gallery", "unused")
COLUMNS = ("path", "fine", "given", "coarse", "split", "camera")


def read_table(path: Path, required: tuple[str, ...] = ("path", "fine")) -> Iterator[dict[str, Any]]:
    """Records of `path`, `fine`, `fine_name`, and if the table has them, `coarse`, `coarse_name`, `part`, `camera`.

    Without a column `path`, where it is not required, the row's place from 0 stands for it.
    With a column `given` beside `fine`, records have `given_fine`, and `given_coarse` if there are coarse labels.
    Without `fine`, the given labels take its place, and records have `verified: False`.

    Raises
    ------
    DataError : the table cannot be read; a column is missing or unknown; a path is empty or repeated; a label is
        missing, negative, not an integer, or too large; a given label is not one of the verified ones, or a verified
        one was given to no image.
    """
    table, numbers = _read(path)
    for name in required:
        if name not in table and not (name == "fine" and "given" in table):
            raise DataError(f"{path}: no column {name!r}{discovery.suggestion(name, [str(c) for c in table.columns])}")
    for name in table.columns:
        if name not in COLUMNS:
            raise DataError(f"{path}: unknown column {name!r}{discovery.suggestion(str(name), COLUMNS)}")
    if table.empty:
        raise DataError(f"{path}: no rows")
    if "path" not in table:
        table["path"] = [str(place) for place in range(len(table))]
    where = [f"{path}: row {number}" for number in numbers]
    seen: dict[str, int] = {}
    for row, value in enumerate(table["path"].tolist()):
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{where[row]}: path is {value!r}, expected a file's path")
        first = seen.setdefault(posixpath.normpath(value), row)
        if first != row:
            spelt = "" if (other := table["path"].iloc[first]) == value else f" as {other!r}"
            raise DataError(f"{where[row]}: {value!r} is repeated, first in row {numbers[first]}{spelt}")
    verified = "fine" in table
    fine = "fine" if verified else "given"
    columns = {"fine": labels(table[fine].tolist(), fine, where)}
    if "coarse" in table:
        columns["coarse"] = labels(table["coarse"].tolist(), "coarse", where)
    given = _given(table, columns, where) if verified and "given" in table else {}
    for row, image in enumerate(table["path"].tolist()):
        record: dict[str, Any] = {"path": image}
        for name, (classes, names) in columns.items():
            record |= {name: classes[row], f"{name}_name": names[row]}
        record |= {name: values[row] for name, values in given.items()}
        if not verified:
            record["verified"] = False
        if "split" in table:
            record["part"] = _one_of(table["split"].iloc[row], where[row])
        if "camera" in table:
            record["camera"] = integer(table["camera"].iloc[row], "camera", where[row])
        yield record


def _given(
    table: pd.DataFrame, columns: dict[str, tuple[list[int], list[str]]], where: list[str]
) -> dict[str, list[int]]:
    """The given labels by level, numbered as the verified ones."""
    verified, names = columns["fine"]
    number = dict(zip(names, verified, strict=True))
    _, given = labels(table["given"].tolist(), "given", where)
    for row, value in enumerate(given):
        if value not in number:
            choices = discovery.suggestion(value, sorted(number))
            raise DataError(f"{where[row]}: given is {value!r}, which is no verified label{choices}")
    absent = sorted(set(number) - set(given))
    if absent:
        raise DataError(
            f"{where[0].partition(': ')[0]}: no image was given the label {absent[0]!r}: {len(absent)} such"
        )
    found = {"given_fine": [number[value] for value in given]}
    if "coarse" in columns:
        group: dict[int, int] = {}
        for row, (one, other) in enumerate(zip(verified, columns["coarse"][0], strict=True)):
            if group.setdefault(one, other) != other:
                raise DataError(
                    f"{where[row]}: {names[row]!r} is in two coarse classes, so that of a given label is unknown"
                )
        found["given_coarse"] = [group[value] for value in found["given_fine"]]
    return found


def table_state(path: Path) -> str:
    """A line that changes if a table is rewritten, or if it was read before `007` and `7` were different labels."""
    if not path.is_file():
        return state_of(path)
    table, _ = _read(path)
    names = [name for name in ("fine", "coarse", "given") if name in table and look_like_numbers(table[name].tolist())]
    return state_of(path) + "".join(f"names: {name}\n" for name in names)


def _read(path: Path) -> tuple[pd.DataFrame, list[int]]:
    """A table and the numbers of its rows: for a CSV the line where a row begins, as editors count, else from 0."""
    if path.suffix not in (".csv", ".parquet"):
        raise DataError(f"{path}: expected a .csv or a .parquet file")
    try:
        if path.suffix == ".csv":
            return _read_csv(path)
        table = pd.read_parquet(path)
    except (OSError, ValueError, csv.Error) as error:  # parsing errors of pandas and pyarrow are ValueErrors
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: cannot be read: {error}") from error
    return table, list(range(len(table)))


def _read_csv(path: Path) -> tuple[pd.DataFrame, list[int]]:
    lines, numbers, ended = [], [], 0
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        for fields in reader:
            if len(fields) > 1 or "".join(fields).strip():  # not a blank line
                lines.append(fields)
                numbers.append(ended + 1)
            ended = reader.line_num
    if not lines:
        raise DataError(f"{path}: cannot be read: the file is empty")
    header, *rows = lines
    if len(set(header)) < len(header):
        raise DataError(f"{path}: a column is repeated: {', '.join(header)}")
    for fields, number in zip(rows, numbers[1:], strict=True):
        if len(fields) != len(header):
            raise DataError(f"{path}: row {number}: expected {len(header)} fields, got {len(fields)}")
    return pd.DataFrame(rows, columns=header, dtype=str), numbers[1:]


def _one_of(value: Any, where: str) -> str:
    if value not in ROLES:
        raise DataError(f"{where}: split is {value!r}{discovery.suggestion(str(value), ROLES)}")
    return str(value)
