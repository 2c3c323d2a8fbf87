"""The texts that commands write: a study's file, a page."""

from __future__ import annotations

import json

from jinja2 import Environment, select_autoescape

from dml.report.page import html


def environment() -> Environment:
    """Where templates are found; those that end in `.html` escape what they are given."""
    templates = html.environment("dml.cli", select_autoescape(["html"]))
    templates.filters["one_line"] = one_line
    templates.filters["tojson"] = lambda value: one_line(json.dumps(value, ensure_ascii=False))  # for YAML, not HTML
    return templates


def one_line(text: str) -> str:
    r"""Text with an escape in place of each character that cannot be printed, such as a line break (`\n`, `\u2028`).

    A comment in YAML ends at a line break, and YAML rejects other control characters. In double quotes it reads the
    escapes.
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
