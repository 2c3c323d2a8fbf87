"""Scores over seeds as columns of a table's frame."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dml import statistics

PARTS = ("mean", "std", "low", "high")
SCORE = (0.0, 100.0)  # the possible values of a score in percent
SHARE = (0.0, math.inf)  # those of its share of another score


def summary_of(values: Iterable[float], prefix: str, bounds: tuple[float, float] = SCORE) -> dict[str, Any]:
    """`<prefix> mean`, `std`, `low`, `high` and `n` of some values; NaN for what too few values leave undefined.

    Parameters
    ----------
    values : one per seed, in percent.
    prefix : of the columns.
    bounds : the possible values, which the interval does not leave.
    """
    found = np.asarray(list(values), dtype=float)
    if not len(found):
        return {f"{prefix} {part}": np.nan for part in PARTS} | {f"{prefix} n": 0}
    s = statistics.summary(found, bounds=bounds)
    return {f"{prefix} {part}": getattr(s, part) for part in PARTS} | {f"{prefix} n": s.n}
