"""A table as the report shows it: one frame, which is also its CSV, and how each column is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

NOTHING = "\N{EN DASH}"  # where there is no number

Kind = Literal[
    "text",
    "name",
    "status",
    "rate",
    "score",
    "percent",
    "difference",
    "interval",
    "p",
    "count",
    "break",
    "share",
    "seconds",
    "number",
]


@dataclass(frozen=True)
class Cell:
    """One cell of a table in HTML: what is read, what is sorted by, and a smaller second line."""

    text: str
    order: str | float
    small: str = ""
    strip: tuple[float, float, float] | None = None  # low, mean, high on the column's scale, each in [0, 100]


@dataclass(frozen=True)
class Column:
    """A column of the frame; for the kind `score`, the prefix of its `mean`, `std`, `low`, `high` and `n`."""

    key: str
    label: str
    kind: Kind = "text"
    note: str = ""  # what the heading means, shown as its tooltip and in the table's legend

    @property
    def numeric(self) -> bool:
        """Set flush right, with figures of one width."""
        return self.kind not in ("text", "name", "status")


@dataclass(frozen=True)
class Table:
    """A frame and the columns of it that are shown, in order. The CSV has the whole frame."""

    name: str  # of the CSV file, and of the table in links
    title: str
    caption: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame

    def rows(self) -> list[list[Cell]]:
        """The table's body, row by row."""
        scales = {c.key: _scale(self.frame, c.key) for c in self.columns if c.kind == "score"}
        records = self.frame.to_dict("records")
        return [[_cell(column, row, scales.get(column.key)) for column in self.columns] for row in records]

    def csv(self) -> str:
        """The frame as CSV, with `.` for decimals and an empty field where there is no value."""
        return self.frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def percent(value: float, signed: bool = False) -> str:
    """One decimal, a true minus sign; an en dash where there is no number."""
    if value is None or not math.isfinite(value):
        return NOTHING
    text = f"{value:+.1f}" if signed else f"{value:.1f}"
    return {"-0.0": "0.0", "+0.0": "0.0"}.get(text, text).replace("-", "\N{MINUS SIGN}")


def duration(seconds: float) -> str:
    """`75` -> `1 min 15 s`; `8040` -> `2 h 14 min`."""
    if not math.isfinite(seconds):
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def number(value: Any) -> str:
    """A setting's or a diagnostic's value in four significant figures; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING if value is None else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return NOTHING
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def p_value(value: float) -> str:
    """`0.032`, `< 0.001`."""
    if not math.isfinite(value):
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA


def _cell(column: Column, row: dict[str, Any], scale: tuple[float, float, int] | None) -> Cell:
    if column.kind == "score" and scale is not None:
        return _score_cell(column.key, row, *scale)
    value = row[column.key]
    if _missing(value):
        return Cell(NOTHING, "")
    writers = {
        "percent": percent,
        "difference": lambda v: percent(v, signed=True),
        "rate": lambda v: f"{v:.0%}" if abs(v * 100 - round(v * 100)) < 1e-9 else f"{v:.1%}",
        "p": p_value,
        "count": lambda v: f"{int(v):,}",
        "seconds": duration,
        "number": number,
    }
    if column.kind == "interval":  # its text stands in the column itself, its number beside it
        return Cell(value, float(row[f"{column.key} difference"]))
    if column.kind == "break":
        return Cell(f"above {row['reach']:.0%}" if math.isinf(value) else f"{value:.0%}", min(value, 9.0))
    if column.kind == "share":
        return Cell(f"{int(value)} of {int(row['others'])}", int(value))
    if column.kind in writers:
        return Cell(writers[column.kind](value), float(value) if isinstance(value, int | float) else str(value))
    return Cell(str(value), str(value))


def _score_cell(key: str, row: dict[str, Any], lowest: float, highest: float, usual: int) -> Cell:
    mean, std, low, high, n = (row[f"{key} {part}"] for part in ("mean", "std", "low", "high", "n"))
    if _missing(mean):
        return Cell(NOTHING, "", "no seed finished")
    text = percent(mean) if _missing(std) or n < 2 else f"{percent(mean)} ± {percent(std)}"
    if _missing(low) or n < 2:
        return Cell(text, mean, f"n = {int(n)}")
    strip = None
    if highest > lowest:
        places = [min(100.0, max(0.0, 100 * (v - lowest) / (highest - lowest))) for v in (low, mean, high)]
        strip = (round(places[0], 1), round(places[1], 1), round(places[2], 1))
    fewer = "" if n == usual else f", n = {int(n)}"
    return Cell(text, mean, f"[{percent(low)}, {percent(high)}]{fewer}", strip)


def _scale(frame: pd.DataFrame, key: str) -> tuple[float, float, int]:
    """The range of a score column's strips, a little wider than that of its means, and its usual number of seeds."""
    means = frame[f"{key} mean"].dropna()
    usual = int(frame[f"{key} n"].max()) if len(frame) else 0
    if len(means) < 2 or means.max() == means.min():
        return 0.0, 0.0, usual
    margin = 0.06 * (means.max() - means.min())
    return float(means.min() - margin), float(means.max() + margin), usual
