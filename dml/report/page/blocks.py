"""The blocks that a section yields.

`assets` saves the files of those that have any. `templates/blocks.html` has one macro for each `kind` of saved block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure

from dml.report.page.tables import Table


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


Block = (
    Paragraph | Drawing | Table | Findings | Facts | Command | Download | FailedTrial | Folded | ClaimList | ClaimFilter
)


def folded(table: Table | None) -> Folded | None:
    """A table, folded under its own title."""
    return None if table is None else Folded(table.title, (table,))
