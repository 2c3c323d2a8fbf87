"""Labels of a user's table or dataset as numbers and names. Errors name the row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dml.data import DataError
from dml.tables import integer, number

SPELLINGS = (re.compile(r"0|-?[1-9][0-9]*"), re.compile(r"-?(0|[1-9][0-9]*)\.0"))
"""Integers as text: as programs write them, and as they write a column of floats. `007`, `1e5` and ` 7` are names."""


def labels(values: Sequence[Any], name: str, where: Sequence[str]) -> tuple[list[int], list[str]]:
    """A column of labels as numbers and names. Numbers are kept; names are numbered in sorted order.

    Labels are numbers if all are. Text is a number only if all of the column is written in one of `SPELLINGS`, so that
    different labels stay different.

    Parameters
    ----------
    name : of the column, for messages.
    where : the file and row of each label, for messages.

    Raises
    ------
    DataError : a label is missing; or labels are numbers, and one is negative, not whole, or too large.
    """
    for row, value in enumerate(values):
        if pd.isna(value) or (isinstance(value, str) and not value.strip()):
            raise DataError(f"{where[row]}: {name} is missing")
    if _are_numbers(values):
        numbers = [integer(value, name, where[row]) for row, value in enumerate(values)]
        return numbers, [str(number) for number in numbers]
    order = {text: number for number, text in enumerate(sorted({str(value) for value in values}))}
    return [order[str(value)] for value in values], [str(value) for value in values]


def look_like_numbers(values: Sequence[Any]) -> bool:
    """Whether labels are names that Python could read as numbers, such as `007` beside `7`."""
    return all(number(value) is not None for value in values) and not _are_numbers(values)


def _are_numbers(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    if not all(isinstance(value, str) or number(value) is not None for value in values):
        return False
    return any(all(spelling.fullmatch(text) for text in texts) for spelling in SPELLINGS)
