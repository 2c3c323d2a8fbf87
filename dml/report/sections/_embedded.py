"""What the sections share that a study asks for in `report.figures`."""

from __future__ import annotations

from typing import Any

from dml.report.analysis.embedded_cells import Shown
from dml.report.figures.embedded import titles
from dml.report.labels import SETS
from dml.report.page.blocks import Paragraph
from dml.report.page.tables import Column
from dml.report.results import Results
from dml.report.sections._rows import condition_columns, identity
from dml.report.texts import Texts

say = Texts(__file__)


def absent() -> Paragraph:
    """What a page says if no trial kept its embeddings here."""
    return Paragraph(say("absent"))


def asked(results: Results, figure: str) -> bool:
    """Whether the study asks for a figure of embeddings, and has confirmed trials."""
    return figure in results.study.report.figures and not results.confirmed.empty


def named(results: Results, of: Shown, name: str, part: str) -> dict[str, Any]:
    """What a figure's row is about: the method as the figure names it, and the images."""
    names = list(of.keys)
    return {"method": titles(results, names)[names.index(name)], "set": SETS.get(part, part)}


def described(results: Results, of: Shown, name: str, part: str) -> dict[str, Any]:
    """What a row about a cell on one set says in `describing_columns`, and in its CSV file."""
    return identity(results, name) | named(results, of, name, part)


def describing_columns(results: Results) -> tuple[Column, ...]:
    """What a row is about: the data, the method as the figure names it, and the images."""
    return (*condition_columns(results), Column("method", "Method"), Column("set", "Images"))
