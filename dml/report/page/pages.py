"""A page, and the sections on it, after their files were saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dml.report.page.assets import SavedBlock, SavedDrawing


@dataclass(frozen=True)
class PageSection:
    """A heading and the blocks below it."""

    anchor: str
    title: str
    blocks: list[SavedBlock]
    mark: str = ""  # beside the title: `not tuned`


@dataclass(frozen=True)
class Notice:
    """A line at the head of a page about what is missing or wrong."""

    text: str
    bad: bool = False
    on_card: bool = True  # on the index too


@dataclass(frozen=True)
class Page:
    """Everything that the templates show of one page, and its card on the index."""

    name: str
    href: str
    eyebrow: str  # small print above the title
    title: str
    description: Sequence[str]  # paragraphs
    sections: Sequence[PageSection]
    facts: Sequence[tuple[str, str, str]] = ()  # label, value, smaller print
    notices: Sequence[Notice] = ()
    card: Sequence[SavedBlock] = ()  # on the index
    key: SavedDrawing | None = None  # the key figure, on the index
    best: Sequence[tuple[str, str, str]] = ()  # the best method: under which noise, which, and its score
    waiting: bool = False  # no trial has finished
    here: bool = False  # the study ran in this project
