"""The noise rate that a command is about: the one asked for, or an audit's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dml.files import read_json

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", help="Share of all labels that is wrong, 0.23. None: labels as given, however many are wrong."
    ),
]


class AuditedRate(NamedTuple):
    """The share of labels as given that is wrong, and where it is from."""

    value: float
    source: str


def audited_rate(folder: Path, dataset: str) -> AuditedRate | None:
    """The rate that a dataset's audit left in `summary.json`: that of its `review`, else the first guess."""
    content = read_json(folder / "summary.json")
    found = content if isinstance(content, dict) and content.get("dataset", dataset) == dataset else {}
    for name, text in (("review", "estimated by the review of its audit"), ("rate", "first guess of its audit")):
        value = _rate_in(found.get(name))
        if value is not None:
            return AuditedRate(value, text)
    return None


def _rate_in(value: Any) -> float | None:
    """A number, or that of a mapping with `rate` or `guess`."""
    if isinstance(value, dict):
        value = value.get("rate", value.get("guess"))
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None
