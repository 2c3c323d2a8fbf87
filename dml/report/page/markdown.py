"""Blocks as Markdown, for a code host and for MLflow. Texts of such pages may have Markdown in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dml.report.page.blocks import Folded, Paragraph
from dml.report.page.cells import rows
from dml.report.page.tables import Table


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 or below."""

    level: int
    text: str


@dataclass(frozen=True)
class Items:
    """A list, one text an item."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """An image file."""

    alt: str
    path: str  # from the page


MarkdownBlock = Paragraph | Table | Folded | Heading | Items | Picture


def markdown(blocks: Iterable[object]) -> str:
    """The blocks, with an empty line between them. None, and blocks with nothing to show, are left out.

    Raises
    ------
    TypeError : a block that is no `MarkdownBlock`.
    """
    return "\n\n".join(filter(None, (_written(block) for block in blocks if block is not None)))


def _written(block: object) -> str:
    match block:
        case Paragraph(text):
            return text
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Items(items):
            return "\n".join(f"- {_line(item)}" for item in items)
        case Picture(alt, path):
            return f"![{alt}]({path})"
        case Folded(title, blocks):
            inside = markdown(blocks)
            return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>" if inside else ""
        case Table(lead=lead, caption=caption, limits=limits):
            how = Folded("How to read it", (Paragraph(caption),))
            return markdown([Paragraph(lead), Paragraph(_body(block)), how, Paragraph(limits)])
    raise TypeError(f"{type(block).__name__} has no form in Markdown")


def _body(table: Table) -> str:
    """The rows; names are code."""
    head = [column.label.lower() for column in table.columns]
    body = [
        [f"`{cell.text}`" if column.kind == "name" else f"{cell.text} {cell.small}" for column, cell in each]
        for each in (zip(table.columns, row, strict=True) for row in rows(table))
    ]
    lines = ["|".join(["", *(f" {_line(text)} ".replace("  ", " ") for text in row), ""]) for row in [head, *body]]
    ruler = "".join("|---:" if column.numeric else "|---" for column in table.columns)
    return "\n".join([lines[0], f"{ruler}|", *lines[1:]])


def _line(text: str) -> str:
    return text.replace("\n", " ").strip()
