"""What the figures of kept embeddings share: names of methods and sets, and how many panels are in a row."""

from __future__ import annotations

from dml.report.analysis.embedded_cells import parts_of
from dml.report.results import Results

WIDTH = 36  # letters in a line of a panel's title
SETS = {"train": "training images", "seen": "training classes", "test": "new classes"}


def titles(results: Results, names: list[str]) -> list[str]:
    """A title for each cell, of what is not the same in all of these cells."""
    parts = [parts_of(results, name) for name in names]
    keys = dict.fromkeys(key for own in parts for key in own)
    differ = [key for key in keys if len({own[key] for own in parts if key in own}) > 1]
    texts = [", ".join(own[key] for key in differ if key in own) for own in parts]
    return [text or results.methods[name].bare.label for name, text in zip(names, texts, strict=True)]


def across(panels: int, most: int) -> int:
    """How many panels are in a row, at most `most`: rows are as full as each other."""
    return -(-panels // -(-panels // most))
