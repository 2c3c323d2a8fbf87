"""Scores over seeds as columns of a table's frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dml import statistics

PARTS = ("mean", "std", "low", "high")


def summary_of(values: Iterable[float], prefix: str) -> dict[str, Any]:
    """`<prefix> mean`, `std`, `low`, `high` and `n` of some values; NaN for what too few values leave undefined.

    Parameters
    ----------
    values : one per seed, in percent.
    prefix : of the columns.
    """
    found = np.asarray(list(values), dtype=float)
    if not len(found):
        return {f"{prefix} {part}": np.nan for part in PARTS} | {f"{prefix} n": 0}
    s = statistics.summary(found)
    return {f"{prefix} {part}": getattr(s, part) for part in PARTS} | {f"{prefix} n": s.n}
