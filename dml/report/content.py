"""What a study's page is made of, and the writer of its figures and CSV files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from dml.report import style
from dml.report.table import Cell, Column, Table


@dataclass(frozen=True)
class Image:
    """A saved figure, by paths from the site's root."""

    light: str
    dark: str
    png: str
    width: int
    height: int
    alt: str
    caption: str


@dataclass(frozen=True)
class Shown:
    """A table on a page, with the path of its CSV from the site's root."""

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    rows: list[list[Cell]]
    href: str


@dataclass
class Section:
    """A heading and what stands below it."""

    id: str
    title: str
    text: str = ""
    findings: list[dict[str, str]] = field(default_factory=list)
    figures: list[Image] = field(default_factory=list)
    tables: list[Shown] = field(default_factory=list)
    folded: list[dict[str, Any]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    command: str = ""
    download: str = ""  # the path of every trial as CSV
    failures: list[dict[str, str]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.findings or self.figures or self.tables or self.folded or self.facts or self.failures)


@dataclass(frozen=True)
class Page:
    """A study's page."""

    name: str
    href: str
    title: str
    description: list[str]
    facts: list[tuple[str, str, str]]
    notices: list[dict[str, Any]]
    sections: list[Section]
    findings: list[dict[str, str]]  # the first section's, for the index
    key: Image | None


class Writer:
    """Saves a study's figures and CSV files below the site's root, and says where they are."""

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        (root / "data" / study).mkdir()

    def figure(self, name: str, figure: Figure | None, alt: str, caption: str, png: bool = False) -> list[Image]:
        """The saved figure in a list; an empty list for None."""
        if figure is None:
            return []
        stem = f"{self.study}-{name}"
        width, height = style.save(figure, self.root / "figures" / stem, png)
        path = f"figures/{stem}"
        saved = f"{path}.png" if png else ""
        return [Image(f"{path}.svg", f"{path}-dark.svg", saved, round(width), round(height), alt, caption)]

    def table(self, table: Table | None) -> list[Shown]:
        """The saved table in a list; an empty list for None."""
        if table is None:
            return []
        href = f"data/{self.study}/{table.name}.csv"
        (self.root / href).write_text(table.csv(), encoding="utf-8")
        return [Shown(table.name, table.title, table.caption, table.columns, table.frame, table.rows(), href)]
