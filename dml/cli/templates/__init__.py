"""The texts that commands write: a study's file, a page."""

from __future__ import annotations

import json

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def environment() -> Environment:
    """Where templates are found; those that end in `.html` escape what they are given."""
    found = Environment(
        loader=PackageLoader("dml.cli"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)  # for YAML: not escaped for HTML
    return found
