"""Read a user's table of images, CSV or Parquet, into records. Errors name the row."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dml import discovery
from dml.data import DataError
from dml.data.raw import state_of
from dml.data.sources._labels import labels, look_like_numbers
from dml.data.sources._splits import ROLES, kind_of
from dml.tables import integer, read_rows

COLUMNS = ("path", "fine", "given", "coarse", "split", "camera")
USUAL = {
    "path": ("file", "filename", "filepath", "image", "image_path", "img", "text", "sentence", "title", "name", "id"),
    "fine": ("label", "labels", "class", "category", "species", "target", "identity"),
}
"""Names that other tables give to a column."""
LIKE = 0.75  # how similar a column's name is to one of COLUMNS (difflib's ratio) that is taken for a mistake


def check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The option `columns`: what the table calls some of COLUMNS.

    Raises
    ------
    ValueError : a key is none of COLUMNS, or a name is no text.
    """
    for name, own in (columns or {}).items():
        if name not in COLUMNS:
            raise ValueError(f"columns: unknown column {name!r}{discovery.suggestion(str(name), COLUMNS)}")
        if not isinstance(own, str):
            raise ValueError(f"columns: {name}: expected the name of a column, got {own!r}")
    return dict(columns or {})


def read_table(
    path: Path, required: tuple[str, ...] = ("path", "fine"), columns: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Records of `path`, `fine`, `fine_name`, and if the table has them, `coarse`, `coarse_name`, `part`, `camera`.

    Without a column `path`, where it is not required, the row's place from 0 stands for it. Where it is not required,
    it may be any text, and several rows may have the same.
    With a column `given` beside `fine`, records have `given_fine`, and `given_coarse` if there are coarse labels.
    Without `fine`, the given labels take its place, and records have `verified: False`.
    Other columns are ignored.

    Parameters
    ----------
    required : columns without which there are no records.
    columns : what the table calls some of COLUMNS, such as `{"fine": "label"}`.

    Raises
    ------
    DataError : the table cannot be read; a column is missing, or has almost a known name; a path is empty or repeated;
        a label is missing, negative, not an integer, or too large; a given label is not one of the verified ones, or a
        verified one was given to no image.
    """
    table, numbers, others = _chosen(path, columns or {})
    for name in required:
        if name not in table and not (name == "fine" and "given" in table):
            likely = next((own for own in others if own.lower() in USUAL.get(name, ())), "...")
            raise DataError(
                f"{path}: no column {name!r}. Choices: {', '.join(others) or 'none'}.{_naming(name, likely)}"
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
            raise DataError(f"{where[row]}: path is {value!r}, expected a file's path")
        first = seen.setdefault(posixpath.normpath(value), row)
        if first != row:
            spelt = "" if (other := table["path"].iloc[first]) == value else f" as {other!r}"
            raise DataError(f"{where[row]}: {value!r} is repeated, first in row {numbers[first]}{spelt}")
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
    absent = sorted(set(number) - set(given))
    if absent:
        raise DataError(
            f"{where[0].partition(': ')[0]}: no image was given the label {absent[0]!r}: {len(absent)} such"
        )
    found = {"given_fine": [number[value] for value in given]}
    if "coarse" in levels:
        group: dict[int, int] = {}
        for row, (one, other) in enumerate(zip(verified, levels["coarse"][0], strict=True)):
            if group.setdefault(one, other) != other:
                raise DataError(
                    f"{where[row]}: {names[row]!r} is in two coarse classes, so that of a given label is unknown"
                )
        found["given_coarse"] = [group[value] for value in found["given_fine"]]
    return found


def columns_of(path: Path) -> dict[str, str]:
    """What a table calls its labels, and the paths or texts of its rows, where that is a usual name."""
    table, _ = read_rows(path)
    usual = {name: [own for own in table if own.lower() in USUAL[name]] for name in USUAL if name not in table}
    return {name: found[0] for name, found in usual.items() if found and not (name == "fine" and "given" in table)}


def unused_columns(path: Path, columns: Mapping[str, str] | None = None) -> str:
    """What to tell the user of a table's other columns; "" if there are none. Raises as `read_table`."""
    _, _, others = _chosen(path, columns or {})
    return f"{path}: columns that are not used: {', '.join(others)}" if others else ""


def table_state(path: Path, columns: Mapping[str, str] | None = None) -> str:
    """A line that changes if a table is rewritten, or if it was read before `007` and `7` were different labels."""
    if not path.is_file():
        return state_of(path)
    table, _, _ = _chosen(path, columns or {})
    names = [name for name in ("fine", "coarse", "given") if name in table and look_like_numbers(table[name].tolist())]
    return state_of(path) + "".join(f"names: {name}\n" for name in names)


def _chosen(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[int], list[str]]:
    """The known columns of a table, the numbers of its rows, and the names of its other columns."""
    table, numbers = read_rows(path)
    called = list(table.columns)
    for name, own in columns.items():
        if own.strip() not in called:
            raise DataError(f"{path}: columns: {name}: no column {own!r}{discovery.suggestion(own, called)}")
    found = {name: own for name in COLUMNS if (own := columns.get(name, name).strip()) in called}
    others = [own for own in called if own not in found.values()]
    for own in others:
        meant = [name for name in COLUMNS if name not in found]
        if any(own.lower() in names for names in USUAL.values()):
            continue  # `file` is not meant as `fine`
        if close := difflib.get_close_matches(own.lower(), meant, n=1, cutoff=LIKE):
            raise DataError(f"{path}: unknown column {own!r}; did you mean {close[0]!r}?{_naming(close[0], own)}")
    return pd.DataFrame({name: table[own] for name, own in found.items()}), numbers, others


def _naming(name: str, own: str) -> str:
    return f" `settings: {{columns: {{{name}: {own}}}}}` reads another column as {name!r}"


def _parts(values: list[Any], where: list[str]) -> list[str]:
    """The part of each row: a role; or if some rows are of a validation split, the split as folders have it, `val/`."""
    found = []
    for row, value in enumerate(values):
        name = str(value).strip().lower()
        part = name if name in ROLES else kind_of(name)
        if part is None:
            raise DataError(f"{where[row]}: split is {value!r}{discovery.suggestion(str(value), (*ROLES, 'val'))}")
        found.append(part)
    return [f"{part}/" for part in found] if "validation" in found else found
