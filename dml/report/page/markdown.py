"""Blocks as Markdown, for a code host and for MLflow. Texts of such pages may have Markdown in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dml.report.page.blocks import Folded, Paragraph, Table, rows


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
    """The blocks, with an empty line between them. None, and blocks with nothing to show, are left out."""
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
    head = [column.label for column in table.columns]
    body = []
    for row in rows(table):
        texts = [re.sub(r"<(?=[A-Za-z/!?])", "&lt;", f"{cell.text} {cell.small}") for cell in row]  # no tag
        names = [f"`` {cell.text} ``" if "`" in cell.text else f"`{cell.text}`" for cell in row]
        kinds = [column.kind for column in table.columns]
        body.append([n if kind == "name" else t for n, t, kind in zip(names, texts, kinds, strict=True)])
    cells = [[_line(text).replace("|", r"\|") for text in row] for row in [head, *body]]
    lines = ["|".join(["", *(f" {text} ".replace("  ", " ") for text in row), ""]) for row in cells]
    ruler = "".join("|---:" if column.numeric else "|---" for column in table.columns)
    return "\n".join([lines[0], f"{ruler}|", *lines[1:]])


def plain(text: str) -> str:
    """A text of a user's that a page shows as it is: in one line, with an escape before each sign of Markdown."""
    return re.sub(r"([\\`*_\[\]<|])", r"\\\1", " ".join(text.split()))


def _line(text: str) -> str:
    return text.replace("\n", " ").strip()
