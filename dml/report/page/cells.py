"""What each cell of a table shows and is sorted by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from dml.report import numbers
from dml.report.numbers import NOTHING, percent
from dml.report.page.tables import Column, Kind, Table


@dataclass(frozen=True)
class TableCell:
    """What is read, what is sorted by, a smaller second line, and an interval as a strip."""

    text: str
    order: str | float
    small: str = ""
    strip: tuple[float, float, float] | None = None  # low, mean, high on the column's scale, each in [0, 100]
    cut: str = ""  # CSS classes: at which ends the strip is longer than the scale

    @property
    def order_text(self) -> str:
        """What is sorted by, as text: six significant figures."""
        return self.order if isinstance(self.order, str) else f"{self.order:.6g}"


WRITERS: Mapping[Kind, Callable[[Any], str]] = {
    "rate": numbers.rate,
    "made wrong": numbers.made_wrong,
    "percent": percent,
    "difference": partial(percent, signed=True),
    "p": numbers.p_value,
    "count": lambda value: f"{int(value):,}",
    "seconds": numbers.duration,
    "number": numbers.number,
}
INTERVALS: Mapping[Kind, Callable[[float], str]] = {
    "difference_interval": partial(percent, signed=True),
    "number_interval": lambda value: f"{value:.2f}",
    "rate_interval": lambda value: f"{value:.0%}",
}


def rows(table: Table) -> list[list[TableCell]]:
    """The table's body, row by row."""
    scales = {c.key: _scale(table.frame, c.key) for c in table.columns if c.kind == "score"}
    records = table.frame.to_dict("records")
    return [[_cell(column, row, scales.get(column.key)) for column in table.columns] for row in records]


def _cell(column: Column, row: dict[str, Any], scale: tuple[float, float, int] | None) -> TableCell:
    if scale is not None:
        return _score_cell(column.key, row, *scale)
    value = row[column.key]
    if _missing(value):
        return TableCell(column.missing, "")
    if column.kind in INTERVALS:
        write = INTERVALS[column.kind]
        ends = (row[f"{column.key} {end}"] for end in ("low", "high"))
        low, high = (NOTHING if _missing(end) else write(end) for end in ends)
        return TableCell(numbers.interval(write(value), low, high), float(value))
    if column.kind == "break":
        text = f"above {numbers.rate(row['reach'])}" if math.isinf(value) else f"{value:.0%}"
        return TableCell(text, min(value, 9.0))
    if column.kind == "share":
        return TableCell(f"{int(value)} of {int(row['others'])}", int(value))
    if column.kind in WRITERS:
        order = float(value) if isinstance(value, int | float) else str(value)
        return TableCell(WRITERS[column.kind](value), order)
    return TableCell(str(value), str(value))


def _score_cell(key: str, row: dict[str, Any], lowest: float, highest: float, usual: int) -> TableCell:
    mean, std, low, high, n = (row[f"{key} {part}"] for part in ("mean", "std", "low", "high", "n"))
    if _missing(mean):
        return TableCell(NOTHING, "", "no seed finished")
    text = percent(mean) if _missing(std) or n < 2 else f"{percent(mean)} ± {percent(std)}"
    if _missing(low) or n < 2:
        return TableCell(text, mean, f"n = {int(n)}")
    strip, cut = None, ""
    if highest > lowest:
        places = [min(100.0, max(0.0, 100 * (v - lowest) / (highest - lowest))) for v in (low, mean, high)]
        strip = (round(places[0], 1), round(places[1], 1), round(places[2], 1))
        cut = " cut-low" * (low < lowest) + " cut-high" * (high > highest)
    fewer = "" if n == usual else f", n = {int(n)}"
    return TableCell(text, mean, f"[{percent(low)}, {percent(high)}]{fewer}", strip, cut)


def _scale(frame: pd.DataFrame, key: str) -> tuple[float, float, int]:
    """The range of a score column's strips, and its usual number of seeds.

    The range contains all intervals, but is at most three times that of the means: longer ones end in an arrow.
    """
    means = frame[f"{key} mean"].dropna()
    usual = int(frame[f"{key} n"].max()) if len(frame) else 0
    if len(means) < 2 or means.max() == means.min():
        return 0.0, 0.0, usual
    span = means.max() - means.min()
    low, high = frame[f"{key} low"].min(), frame[f"{key} high"].max()
    low, high = (means.min(), means.max()) if math.isnan(low) or math.isnan(high) else (low, high)
    margin = 0.04 * span
    return float(max(low, means.min() - span) - margin), float(min(high, means.max() + span) + margin), usual


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA
