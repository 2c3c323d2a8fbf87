"""A table: one frame, which is also the CSV file, and the columns of it that a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dml.report.numbers import NOTHING

Kind = Literal[
    "text",  # wraps
    "name",
    "status",
    "rate",  # a share of 1, written as a percentage
    "made wrong",  # a noise rate, of labels that may be wrong at rate 0
    "percent",
    "difference",  # in points, with its sign
    "p",
    "count",
    "seconds",
    "number",
    "score",  # mean, std, low, high and n, from the columns `<key> mean` and so on
    "difference_interval",  # from the columns `<key>`, `<key> low` and `<key> high`, as the two below
    "number_interval",
    "rate_interval",
    "break",  # a rate, or `above <reach>` if it is infinite
    "share",  # `<key> of <others>`
]


@dataclass(frozen=True)
class Column:
    """One column of a page's table."""

    key: str  # of the frame's column, or the prefix of several (see `Kind`)
    label: str
    kind: Kind = "text"
    note: str = ""  # explains the heading, as its tooltip
    missing: str = NOTHING  # what is written if there is no value

    @property
    def numeric(self) -> bool:
        """Aligned right, with digits of one width."""
        return self.kind not in ("text", "name", "status", "made wrong")


@dataclass(frozen=True)
class Table:
    """A frame, and the columns that are shown, in order. The CSV file has the whole frame."""

    name: str  # of the CSV file, and of the table in links
    title: str
    caption: str  # how to read it
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    lead: str = ""  # what it finds
    limits: str = ""  # what it does not say

    @property
    def text(self) -> str:
        """All that is said of it: what it finds, how to read it, and its limits."""
        return " ".join(filter(None, (self.lead, self.caption, self.limits)))

    def csv(self) -> str:
        """The frame as CSV, with `.` for decimals; a missing value is an empty field."""
        return csv_text(self.frame)


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV, with `.` for decimals and six significant figures; a missing value is an empty field."""
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
