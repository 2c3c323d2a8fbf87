"""The texts that commands write: a study's file, a page."""

from __future__ import annotations

import json

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def environment() -> Environment:
    """Where templates are found; those that end in `.html` escape what they are given."""
    templates = Environment(
        loader=PackageLoader("dml.cli"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["one_line"] = one_line
    templates.filters["tojson"] = lambda value: one_line(
        json.dumps(value, ensure_ascii=False)
    )  # for YAML, not for HTML
    return templates


def one_line(text: str) -> str:
    r"""Text with an escape in place of each character that cannot be printed, such as a line break (`\n`, `\u2028`).

    A comment in YAML ends at a line break, and YAML rejects other control characters. In double quotes it reads the
    escapes.
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
