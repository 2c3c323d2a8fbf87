"""How far approximate scores can be off: some queries are searched exactly too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dml.evaluation.compressed.plan import STEP
from dml.evaluation.compressed.rows import Rows
from dml.evaluation.compressed.search import ranked

SPARE = 8  # neighbours by float32 distances beyond those needed, among which exact distances choose
NORMAL = 1.96  # quantile of the normal distribution for intervals of 95%


class Interval(NamedTuple):
    """An estimate with its 95% interval."""

    value: float
    low: float
    high: float


def nearest_in(rows: Rows, queries: np.ndarray, k: int, shard: slice) -> tuple[np.ndarray, np.ndarray]:
    """The nearest rows of one shard by float32 arithmetic: squared distances and rows, (q, k + SPARE) each."""
    import faiss

    asked, best = rows.read(queries), None
    for start in range(shard.start, shard.stop, STEP):
        part = rows.read(slice(start, min(start + STEP, shard.stop)))
        distances, places = faiss.knn(asked, part, min(k + SPARE, len(part)))
        found = distances, places + start
        best = found if best is None else nearer(best, found, k + SPARE)
    assert best is not None
    return best


def nearer(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of two findings of `nearest_in`."""
    distances, rows = (np.concatenate(both, axis=1) for both in zip(first, second, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)


def exact_neighbours(
    rows: Rows, queries: np.ndarray, k: int, found: Iterable[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """The k nearest rows of each query by exact (distance, row), int64 (q, k), from `nearest_in` of all shards."""
    best = None
    for part in found:
        best = part if best is None else nearer(best, part, k + SPARE)
    assert best is not None
    return ranked(rows, queries, best[1])[:, :k]


def found_share(exact: np.ndarray, found: np.ndarray, queries: np.ndarray) -> Interval:
    """The share of the exact neighbours (q, k) that a search found, itself left out, over the queries (q,)."""
    shares = []
    for true, near, own in zip(exact, found, queries, strict=True):
        shares.append(np.isin(true[true != own], near).mean())
    return _cut(mean_interval(np.array(shares)))


def true_score(values: np.ndarray, approximate: np.ndarray, exact: np.ndarray, sampled: bool) -> Interval:
    """A score as an exact search of all rows' queries would give it, with its interval.

    The approximate score, moved by the mean difference on the queries that were searched both ways. If none of these
    c queries differs, up to 3/c of all may (the rule of three).

    Parameters
    ----------
    values : (q,), of all searched queries; NaN: it does not count.
    approximate, exact : (c,), of the same queries by both searches.
    sampled : the queries are a random sample, so their choice widens the interval.
    """
    values = values[~np.isnan(values)]
    differences = (exact - approximate)[~np.isnan(exact)]
    shift, score = mean_interval(differences), mean_interval(values)
    half = max(shift.high - shift.value, 0.0 if differences.any() else 3 / max(1, len(differences)))
    if sampled:
        half = float(np.hypot(half, score.high - score.value))
    centre = score.value + shift.value
    return _cut(Interval(centre, centre - half, centre + half))


def mean_interval(values: np.ndarray) -> Interval:
    """A mean with its interval by the normal distribution, for at least some 100 values (n,)."""
    if len(values) == 0:
        return Interval(np.nan, np.nan, np.nan)
    mean, half = float(values.mean()), NORMAL * float(values.std()) / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half)


def _cut(interval: Interval) -> Interval:
    return Interval(*(float(np.clip(value, 0, 1)) for value in interval))
