"""Read a CSV or Parquet file of a user's into a table and the numbers of its rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from dml.data import DataError
from dml.files import separator


def read_rows(path: Path) -> tuple[pd.DataFrame, list[int]]:
    """A table and the numbers of its rows: for a CSV the line where a row begins, as editors count, else from 0."""
    if path.suffix not in (".csv", ".tsv", ".parquet"):
        raise DataError(f"{path}: expected a .csv, .tsv or .parquet file")
    try:
        if path.suffix != ".parquet":
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
        reader = csv.reader(file, delimiter=separator(path), strict=True)
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
