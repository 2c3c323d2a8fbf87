"""Read a table that a user wrote, CSV or Parquet: the source's table, label files, reviews.

A CSV is UTF-8, or UTF-16 with a byte order mark. Its fields are separated by commas, semicolons or tabs, or by what
Excel's first line `sep=;` says. Spaces around the names of columns do not count. Errors name the file and the line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.discovery import suggestion
from dml.files import DataError, first_line

SUFFIXES = (".csv", ".tsv", ".parquet")
SEPARATORS = ",;\t"
EXCEL = re.compile(r'"?sep=(.)"?[ ,;\t]*\r?\n', re.IGNORECASE)
LARGEST = 2**53  # larger numbers of a table may have been rounded


def is_table(path: Path) -> bool:
    """Whether a file's name ends as that of a table."""
    return path.suffix.lower() in SUFFIXES


def read_rows(path: Path) -> tuple[pd.DataFrame, list[int]]:
    """A table and the numbers of its rows: for a CSV the line where a row begins, as editors count, else from 0.

    The values of a CSV are text.
    """
    if not is_table(path):
        raise DataError(f"{path}: expected a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file")
    try:
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
            rows = list(range(len(table)))
        else:
            table, rows = _read_csv(path)
    except DataError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # from pandas and from Arrow
        raise DataError(f"{path}: cannot be read: {first_line(error)}") from error
    table.columns = [str(name).strip() for name in table.columns]
    if not table.columns.is_unique:
        raise DataError(f"{path}: a column is repeated: {', '.join(table.columns)}")
    return table, rows


def integer(value: Any, name: str, where: str, lowest: int = 0) -> int:
    """An integer from a number or from text."""
    parsed = number(value)
    if parsed is None or not parsed.is_integer() or not lowest <= parsed < LARGEST:
        raise DataError(f"{where}: {name} is {value!r}, expected an integer of at least {lowest}")
    return int(parsed)


def integers(path: Path, table: pd.DataFrame, rows: Sequence[int], name: str, lowest: int = 0) -> np.ndarray:
    """A column of `read_rows` as int64 (n,). Raises as `integer`, and if there is no such column."""
    if name not in table:
        raise DataError(f"{path}: no column {name!r}{suggestion(name, list(table.columns))}")
    pairs = zip(table[name].tolist(), rows, strict=True)
    return np.array([integer(value, name, f"{path}: row {row}", lowest) for value, row in pairs], dtype=np.int64)


def number(value: Any) -> float | None:
    """A number, or text that is one; else None."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _read_csv(path: Path) -> tuple[pd.DataFrame, list[int]]:
    text, lines, numbers, ended = _text(path), [], [], 0
    excel = EXCEL.match(text)
    text = text[excel.end() :] if excel else text
    first = ended = int(excel is not None)
    head = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    sign = excel[1] if excel else max(SEPARATORS, key=lambda sign: len(next(csv.reader([head], delimiter=sign), ())))
    spaced = all(name.startswith(" ") for name in head.split(sign)[1:])  # as in `path, "fine"`
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True, skipinitialspace=spaced)
    try:
        for fields in reader:
            if fields == [""] or "".join(fields).strip() or len(fields) > 1:  # not a blank line: `""` is an empty value
                lines.append(fields)
                numbers.append(ended + 1)
            ended = first + reader.line_num
    except csv.Error as error:
        raise DataError(f"{path}: row {ended + 1}: cannot be read: {error}") from error
    if not lines:
        raise DataError(f"{path}: cannot be read: the file is empty")
    header, *rows = lines
    for fields, line in zip(rows, numbers[1:], strict=True):
        if len(fields) != len(header):
            raise DataError(f"{path}: row {line}: expected {len(header)} fields, got {len(fields)}")
    return pd.DataFrame(rows, columns=header, dtype=str), numbers[1:]


def _text(path: Path) -> str:
    content = path.read_bytes()
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line, what = content.count(b"\n", 0, error.start) + 1, f"the byte 0x{content[error.start]:02x}"
    else:
        if "\0" not in text:
            return text
        line, what = text.count("\n", 0, text.index("\0")) + 1, "a null character"
    raise DataError(
        f"{path}: line {line}: expected text in UTF-8, or UTF-16 with a byte order mark, got {what}: save the table as "
        "CSV in UTF-8"
    )


def host_array(values: Any, what: str) -> np.ndarray:
    """A tensor on any device, a list, a Series or an array as an array of this machine's byte order.

    It shares memory with what is given where it can. `what` begins the error messages.
    """
    if hasattr(values, "detach"):
        tensor = values.detach()
        if tensor.is_nested or tensor.is_meta or str(tensor.layout) != "torch.strided":
            kind = "nested" if tensor.is_nested else "meta" if tensor.is_meta else str(tensor.layout)
            raise ValueError(f"{what}: expected a dense array, got a tensor that is {kind}")
        if tensor.is_floating_point() and str(tensor.dtype) not in ("torch.float16", "torch.float32", "torch.float64"):
            tensor = tensor.float()  # NumPy has no bfloat16
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    if hasattr(values, "tocsr"):
        raise ValueError(f"{what}: expected a dense array, got {type(values).__name__}; `toarray()` makes one")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        raise ValueError(f"{what}: expected numbers only, got {np.ma.count_masked(values)} masked entries")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what}: expected an array, got rows of different lengths") from error
    return array.astype(array.dtype.newbyteorder("="), copy=False)
