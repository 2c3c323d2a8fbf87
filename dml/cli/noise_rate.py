"""The noise rate that a command is about: the one asked for, an audit's, or a study's only one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dml.files import read_json

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", help="Share of wrong labels, 0.23. None: that of the study's audit, else the study's only one."
    ),
]


class ChosenRate(NamedTuple):
    """A noise rate, and where it is from."""

    value: float
    source: str


def chosen_rate(asked: float | None, audit: Path, measured: Sequence[float], study: str, dataset: str) -> ChosenRate:
    """The rate that was asked for; else an audit's estimate, else its first guess, else the only one measured.

    Parameters
    ----------
    audit : the folder of the study's audit, which may not exist, or be of another dataset.
    measured : the study's noise rates.

    Raises
    ------
    ValueError : none of these; the message lists the measured rates.
    """
    if asked is not None:
        return ChosenRate(asked, "as asked for")
    found = audited_rate(audit, dataset)
    if found is not None:
        return found
    if len(measured) == 1:
        return ChosenRate(measured[0], "the only one that the study measured")
    raise ValueError(
        f"study {study!r} measured the noise rates {', '.join(f'{rate:g}' for rate in measured)}, and no audit of it "
        f"says how many of its labels are wrong: give a rate, such as --rate {measured[-1]:g}"
    )


def audited_rate(folder: Path, dataset: str) -> ChosenRate | None:
    """The rate that a dataset's audit left in `summary.json`: that of its `review`, else the first guess."""
    content = read_json(folder / "summary.json")
    found = content if isinstance(content, dict) and content.get("dataset", dataset) == dataset else {}
    for name, text in (("review", "estimated by the review of its audit"), ("rate", "first guess of its audit")):
        value = _rate_in(found.get(name))
        if value is not None:
            return ChosenRate(value, text)
    return None


def _rate_in(value: Any) -> float | None:
    """A number, or that of a mapping with `rate` or `guess`."""
    if isinstance(value, dict):
        value = value.get("rate", value.get("guess"))
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None
