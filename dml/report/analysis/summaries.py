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
ROUNDING = 1e-6


def summary_of(
    values: Iterable[float], prefix: str, bounds: tuple[float, float] = SCORE, *, overlap: float
) -> dict[str, Any]:
    """`<prefix> mean`, `std`, `low`, `high` and `n` of some values; NaN for what too few values leave undefined.

    Parameters
    ----------
    values : one per seed or class split, in percent.
    prefix : of the columns.
    bounds : the possible values, which the interval does not leave. A bound that a value contradicts is dropped: some
        metrics, such as AMI, can be negative.
    overlap : of class splits, `Results.overlap`.
    """
    found = _without_rounding(np.asarray(list(values), dtype=float), bounds)
    if not len(found):
        return {f"{prefix} {part}": np.nan for part in PARTS} | {f"{prefix} n": 0}
    s = statistics.summary(found, bounds=_consistent(found, bounds), overlap=overlap)
    return {f"{prefix} {part}": getattr(s, part) for part in PARTS} | {f"{prefix} n": s.n}


def _without_rounding(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """The values; one that is outside by rounding only is moved to the bound."""
    clipped = np.clip(values, *bounds)
    return np.where(np.abs(values - clipped) < ROUNDING, clipped, values)


def _consistent(values: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return (low if values.min() >= low else -math.inf), (high if values.max() <= high else math.inf)
