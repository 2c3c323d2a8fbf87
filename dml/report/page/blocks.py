"""The blocks that a section yields. `assets` saves their files, `templates/blocks.html` has a macro for each `kind`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd

from dml.report import numbers
from dml.report.numbers import NOTHING, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV, with `.` for decimals and six significant figures; a missing value is an empty field."""
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure in the light style, with what it shows in words."""

    name: str  # of its files
    figure: Figure | None  # None: there is nothing to draw, and the block is left out
    data: pd.DataFrame  # what the figure is drawn from: its CSV file
    alt: str
    caption: str
    png: bool = False  # also save a PNG, for documents that take no SVG; it takes a sixth of the time of the figure


@dataclass(frozen=True)
class Finding:
    """One result in large type."""

    where: str
    score: str
    who: str
    text: str


@dataclass(frozen=True)
class Findings:
    """Results in large type, side by side."""

    kind: ClassVar[str] = "findings"
    items: tuple[Finding, ...]


@dataclass(frozen=True)
class Facts:
    """Labels and values, one pair a line."""

    kind: ClassVar[str] = "facts"
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Command:
    """A command line, with a sentence above it."""

    kind: ClassVar[str] = "command"
    text: str
    command: str


@dataclass(frozen=True)
class Download:
    """A frame that is not shown, as a link to its CSV file."""

    name: str
    frame: pd.DataFrame
    link: str
    text: str


@dataclass(frozen=True)
class FailedTrial:
    """One failed trial, with its traceback folded."""

    kind: ClassVar[str] = "failed_trial"
    cell: str
    what: str
    headline: str
    error: str


@dataclass(frozen=True)
class Evidence:
    """What one study, or one section of the theory page, says about a claim."""

    sign: str  # of the verdict, so that it is told by more than a colour
    verdict: str
    where: str  # the study, or the theory page
    href: str  # from the site's root; "" on the page of the study itself, which shows neither verdict nor link again
    text: str
    smaller: str = ""
    study: str = ""  # its name; "" for theory
    note: str = ""  # the claim's remark, which ends `smaller` too


@dataclass(frozen=True)
class ClaimEntry:
    """A claim with its verdict."""

    anchor: str  # "": none
    group: str  # for the filter: the paper's short name, or the study
    sign: str
    verdict: str
    place: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    href: str = ""  # of the place, from the site's root
    commands: tuple[str, ...] = ()  # each would test it


@dataclass(frozen=True)
class ClaimList:
    """Claims, one below the other."""

    kind: ClassVar[str] = "claims"
    items: tuple[ClaimEntry, ...]


@dataclass(frozen=True)
class ClaimFilter:
    """Fields that filter all claims of the page by group, by verdict and by words."""

    kind: ClassVar[str] = "claim_filter"
    groups: tuple[tuple[str, str], ...]  # value, label
    verdicts: tuple[str, ...]


@dataclass(frozen=True)
class Folded:
    """Blocks that are hidden until the reader unfolds them. Left out if it has no block."""

    kind: ClassVar[str] = "folded"
    title: str
    blocks: tuple[Any, ...]  # each a `Block`, saved or for Markdown; None is left out


WithoutFiles = Paragraph | Findings | Facts | Command | FailedTrial | Folded | ClaimList | ClaimFilter
Block = WithoutFiles | Drawing | Table | Download


def folded(table: Table | None) -> Folded | None:
    """A table, folded under its own title."""
    return None if table is None else Folded(table.title, (table,))


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
    if pd.isna(value):
        return TableCell(column.missing, "")
    if column.kind in INTERVALS:
        write = INTERVALS[column.kind]
        ends = (row[f"{column.key} {end}"] for end in ("low", "high"))
        low, high = (NOTHING if pd.isna(end) else write(end) for end in ends)
        return TableCell(numbers.interval(write(value), low, high), float(value))
    if column.kind == "share":
        return TableCell(f"{int(value)} of {int(row['others'])}", int(value))
    if column.kind in WRITERS:
        order = float(value) if isinstance(value, int | float) else str(value)
        return TableCell(WRITERS[column.kind](value), order)
    return TableCell(str(value), str(value))


def _score_cell(key: str, row: dict[str, Any], lowest: float, highest: float, usual: int) -> TableCell:
    mean, std, low, high, n = (row[f"{key} {part}"] for part in ("mean", "std", "low", "high", "n"))
    if pd.isna(mean):
        return TableCell(NOTHING, "", "no seed finished")
    text = percent(mean) if pd.isna(std) or n < 2 else f"{percent(mean)} ± {percent(std)}"
    if pd.isna(low) or n < 2:
        return TableCell(text, mean, f"n = {int(n)}")
    strip, cut = None, ""
    if highest > lowest:
        places = [min(100.0, max(0.0, 100 * (v - lowest) / (highest - lowest))) for v in (low, mean, high)]
        strip = (round(places[0], 1), round(places[1], 1), round(places[2], 1))
        cut = " cut-low" * (low < lowest) + " cut-high" * (high > highest)
    fewer = "" if n == usual else f", n = {int(n)}"
    return TableCell(text, mean, f"[{percent(low)}, {percent(high)}]{fewer}", strip, cut)


def _scale(frame: pd.DataFrame, key: str) -> tuple[float, float, int]:
    """The range of a score column's strips, and its usual number of seeds."""
    means = frame[f"{key} mean"].dropna()
    usual = int(frame[f"{key} n"].max()) if len(frame) else 0
    if len(means) < 2 or means.max() == means.min():
        return 0.0, 0.0, usual
    span = means.max() - means.min()
    low, high = frame[f"{key} low"].min(), frame[f"{key} high"].max()
    low, high = (means.min(), means.max()) if math.isnan(low) or math.isnan(high) else (low, high)
    margin = 0.04 * span
    return float(max(low, means.min() - span) - margin), float(min(high, means.max() + span) + margin), usual
