"""What the figures of kept embeddings share: names of methods and sets, and how many panels are in a row."""

from __future__ import annotations

import textwrap

from dml.report.analysis.shown import parts_of
from dml.report.results import Results

SETS = {"train": "training images", "seen": "training classes", "test": "new classes"}


def titles(results: Results, names: list[str], width: int = 36) -> list[str]:
    """A title for each cell, of what is not the same in all of these cells. Long ones have several lines."""
    parts = [parts_of(results, name) for name in names]
    keys = dict.fromkeys(key for own in parts for key in own)
    differ = [key for key in keys if len({own[key] for own in parts if key in own}) > 1]
    found = []
    for name, own in zip(names, parts, strict=True):
        text = ", ".join(own[key] for key in differ if key in own)
        found.append("\n".join(textwrap.wrap(text or results.methods[name].bare.label, width)))
    return found


def across(panels: int, most: int) -> int:
    """How many panels are in a row, at most `most`: rows are as full as each other."""
    return -(-panels // -(-panels // most))
