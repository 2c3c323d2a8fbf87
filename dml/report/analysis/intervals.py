"""Which interval is shown, and what it covers: the one place that decides it.

- Several class splits: Student's t over splits, with the corrected variance of folds that share training classes
  (`Results.overlap`). It covers splits, searches, seeds and classes.
- One split whose trials all left each class's scores: seeds and classes together. The variance of classes is that of a
  bootstrap of whole classes (Cameron, Gelbach and Miller 2008, section 3), by linearisation of a ratio of sums.
- Otherwise: Student's t over seeds. With one split, a tuned method's search adds how much the best of as many
  resampled tuning trials varies (`statistics.resampled_best`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dml import statistics
from dml.report.labels import Texts, metric_label, metric_of
from dml.report.results import Results, once
from dml.statistics import Estimate, Term, estimate
from dml.types import VALIDATION, ScoreKey

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
    scores = np.asarray(list(values), dtype=float)
    if not len(scores):
        return {f"{prefix} {part}": np.nan for part in PARTS} | {f"{prefix} n": 0}
    clipped = np.clip(scores, *bounds)
    scores = np.where(np.abs(scores - clipped) < ROUNDING, clipped, scores)
    low, high = bounds
    consistent = (low if scores.min() >= low else -math.inf), (high if scores.max() <= high else math.inf)
    s = statistics.summary(scores, bounds=consistent, overlap=overlap)
    return {f"{prefix} {part}": getattr(s, part) for part in PARTS} | {f"{prefix} n": s.n}


def search_term(results: Results, cell: str, key: str) -> Term | None:
    """The variance, in squared points, that a cell's search adds to its mean score; None if it has no search.

    Tuning trials tell how the score varies on validation classes, or without it how the search's objective does.
    """
    if results.study.splits > 1:
        return None
    tried = results.tuned_of(cell)
    tried = tried[(tried["status"] == "finished") & np.isfinite(tried["objective"].astype(float))]
    if len(tried) < 2:
        return None
    choosing = varying = 100 * tried["objective"].to_numpy(dtype=float)
    keys = (results.objective(results.cells[cell].dataset), key)
    objective, score = (str(ScoreKey.parse(each)._replace(set=VALIDATION)) for each in keys)
    if score != objective and score in tried and np.isfinite(tried[score].astype(float)).all():
        varying = 100 * tried[score].to_numpy(dtype=float)
    return Term(statistics.resampled_best(choosing, varying), len(tried) - 1.0)


def search_terms(results: Results, weights: Mapping[str, float], key: str) -> list[Term]:
    """Those of a weighted sum of cells' scores, such as a difference."""
    terms = {cell: search_term(results, cell, key) for cell in weights}
    return [Term(weights[cell] ** 2 * term.variance, term.freedom) for cell, term in terms.items() if term is not None]


say = Texts(__file__)

SPLITS = "class splits, seeds, classes and searches"
CORRECTED = say("corrected")
CLASSES, SEEDS = "seeds and classes", "seeds"
CLASSES_SEARCHES, SEARCHES = "seeds, classes and searches", "seeds and searches"
QUERIES = -1  # the row of `class_means` with each class's queries
FIGURE = "classes"  # of `FigureData`, which publishes what is kept


def block_plural(results: Results) -> str:
    """What means are taken over and comparisons paired over, for captions: `seeds` or `class splits`."""
    return f"{results.study.block}s"


@once
def interval_sources(results: Results, key: str = "") -> str:
    """What the intervals of a score cover, and of comparisons by it; "": of the objective of each cell."""
    if results.study.splits > 1:
        return SPLITS
    searched = results.study.search.tunes and any(len(results.tuned_of(cell)) > 1 for cell in results.cells)
    cells = [name for name in results.cells if len(results.confirmed_of(name))]
    if cells and all(len(class_means(results, name, key)) for name in cells):
        return CLASSES_SEARCHES if searched else CLASSES
    return SEARCHES if searched else SEEDS


def score_sources(results: Results, key: str, name: str) -> str:
    """as `interval_sources`, of a cell's interval of any score."""
    return interval_sources(results, "" if key == results.objective(results.cells[name].dataset) else key)


def coverage(results: Results, keys: Iterable[str]) -> str:
    """What the intervals of these scores cover, in words for captions."""
    cells = {cell.dataset: name for name, cell in results.cells.items()}
    metrics: dict[str, dict[str, None]] = {}
    for key in keys:
        for name in cells.values():
            metrics.setdefault(score_sources(results, key, name), {})[metric_label(metric_of(key))] = None
    texts = [f"{text} ({', '.join(of)})" if len(metrics) > 1 else text for text, of in metrics.items()]
    return "; ".join(texts) + (f"; {CORRECTED}" if results.overlap else "")


@once
def class_means(results: Results, name: str, key: str = "") -> pd.DataFrame:
    """A cell's mean score of each class in percent, by default its objective: a row per seed, a column per class; row
    `QUERIES`.

    Empty if a trial left none (clusterings have none, older trials only those of the objective), or where seeds choose
    the test classes.
    """
    objective = results.objective(results.cells[name].dataset)
    score = ScoreKey.parse(key or objective)
    part = score.set if str(score) == objective else str(score)
    means: dict[int, pd.Series] = {}
    counts = pd.Series(dtype=float)
    rows = results.confirmed_of(name)
    for seed, trial in zip(rows["seed"], rows["key"].astype(str), strict=True):
        saved = results.figures.of(FIGURE, trial, part, partial(_saved, results, trial, score))
        if not len(saved):
            return pd.DataFrame()
        means[int(seed)] = pd.Series(100 * saved["mean"].astype(float), saved["class"])
        counts = pd.Series(saved["queries"].astype(float), saved["class"])
    table = pd.DataFrame({**means, QUERIES: counts}).T
    return pd.DataFrame() if table.isna().any(axis=None) else table


def summary_at(results: Results, name: str, key: str, prefix: str) -> dict[str, Any]:
    """`summary_of` a cell's score, with the interval that `score_sources` names."""
    row = summary_of(results.values(name, key), prefix, overlap=results.overlap)
    return with_estimate(row, score_interval(results, key, name), f"{prefix} ")


def score_interval(results: Results, key: str, cell: str) -> Estimate | None:
    """A cell's mean score with `weighted_interval`' interval, cut at the bounds of a score."""
    interval = weighted_interval(results, key, {cell: 1.0})
    low, high = SCORE
    if interval is None or not low <= interval.mean <= high:
        return interval
    return interval._replace(low=max(interval.low, low), high=min(interval.high, high))


def weighted_interval(results: Results, key: str, weights: Mapping[str, float]) -> Estimate | None:
    """The weighted sum of cells' mean scores, with the interval that `score_sources` names.

    None if that is Student's t over blocks (`statistics.summary`).
    """
    weighted = [weight * results.values(name, key) for name, weight in weights.items()]
    values = pd.concat(weighted, axis=1, join="inner").dropna().sum(axis=1)
    if results.study.splits > 1:
        return None
    return seed_interval(values, class_terms(results, key, weights), search_terms(results, weights, key))


def seed_interval(values: pd.Series, classes: Sequence[Term], searches: Sequence[Term]) -> Estimate | None:
    """The mean of values, one per seed, with further variance; None without any, or with one seed."""
    if len(values) < 2 or not (classes or searches):
        return None
    seeds = Term(statistics.mean_variance(values), len(values) - 1.0)
    made = estimate(float(values.mean()), [seeds, *classes], searches)
    return made._replace(p=max(made.p, statistics.paired_t(values.to_numpy())))  # t is sure of equal seeds


def class_terms(results: Results, key: str, weights: Mapping[str, float]) -> list[Term]:
    """What the choice of the test classes adds to the variance of a weighted sum; empty where that is not known."""
    if score_sources(results, key, next(iter(weights))) not in (CLASSES, CLASSES_SEARCHES):
        return []
    datasets: dict[str, dict[str, float]] = {}  # each has test classes of its own
    for name, weight in weights.items():
        datasets.setdefault(results.cells[name].dataset, {})[name] = weight
    return [term for of_one in datasets.values() for term in _class_terms(results, key, of_one)]


def _class_terms(results: Results, key: str, weights: Mapping[str, float]) -> list[Term]:
    """as `class_terms`, of cells of one dataset."""
    tables = [class_means(results, name, key) for name in weights]
    rows = sorted(set.intersection(*(set(table.index) for table in tables)) - {QUERIES})
    columns = sorted(set.intersection(*(set(table.columns) for table in tables)))
    if not rows or len(columns) < 2:
        return []
    counts = tables[0].loc[QUERIES, columns].to_numpy()
    weighted = zip(tables, weights.values(), strict=True)
    return [
        class_term(sum(weight * table.loc[rows, columns].to_numpy().mean(axis=0) for table, weight in weighted), counts)
    ]


def class_term(means: ArrayLike, counts: ArrayLike) -> Term:
    """The variance of the mean over all queries, by a bootstrap of whole classes."""
    values, queries = np.asarray(means, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    rest, classes = queries * (values - values @ queries / queries.sum()), values.size
    return Term(float(rest @ rest) * classes / (classes - 1) / float(queries.sum()) ** 2, classes - 1.0)


def with_estimate(row: dict[str, Any], interval: Estimate | None, prefix: str = "") -> dict[str, Any]:
    """A row with its interval, and its p if it has one, replaced by those of an estimate; with a prefix p stays."""
    if interval is None:
        return row
    row = row | {f"{prefix}low": interval.low, f"{prefix}high": interval.high}
    return row | ({"p": interval.p} if "p" in row and not prefix else {})


def _saved(results: Results, key: str, score: ScoreKey) -> dict[str, np.ndarray]:
    arrays = results.classes(key)
    if str(score) not in arrays:
        return {}
    return {
        "mean": arrays[str(score)].astype(np.float16),
        "class": arrays[f"{score.group}/class"].astype(np.int32),
        "queries": arrays[f"{score.group}/queries"].astype(np.int32),
    }
