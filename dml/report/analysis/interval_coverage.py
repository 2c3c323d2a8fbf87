"""Which interval is shown, and what it covers: the one place that decides it.

- Several class splits: Student's t over splits, `Results.values`, with the corrected variance of folds that share
  training classes (`Results.overlap`). It covers splits, searches, seeds and classes.
- One split, whose trials all left each class's scores: seeds and classes together (`class_terms`).
- Otherwise: Student's t over seeds.

With one split, the part of a tuned method's search is added (`search_terms`).

Only scores of the study's objective have class scores. Queries of a class resemble each other, so classes count as
wholes: their variance is that of a bootstrap that resamples classes with all their queries (Cameron, Gelbach and Miller
2008, section 3), computed directly by linearisation, as of a ratio of sums over classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dml import statistics
from dml.report.analysis.search_uncertainty import search_terms, searches
from dml.report.analysis.summaries import SCORE, summary_of
from dml.report.estimates import Estimate, Term, estimate
from dml.report.labels import metric_label, metric_of
from dml.report.memo import once
from dml.report.results import Results
from dml.report.texts import Texts
from dml.types import ScoreKey

say = Texts(__file__)

SPLITS = "class splits, seeds, classes and searches"
CORRECTED = say("corrected")
CLASSES, SEEDS = "seeds and classes", "seeds"
CLASSES_SEARCHES, SEARCHES = "seeds, classes and searches", "seeds and searches"
QUERIES = -1  # the row of `class_means` with each class's queries
FIGURE = "classes"  # of `FigureData`, which publishes what is kept


def over(results: Results) -> str:
    """What means are taken over and comparisons paired over, for captions: `seeds` or `class splits`."""
    return f"{results.study.block}s"


def of_searches(results: Results) -> str:
    """For captions of tests: ` and searches`, where their part is in them."""
    return " and searches" if searches(results) else ""


@once
def covers(results: Results) -> str:
    """What the intervals of the objective cover, and of comparisons by it."""
    if results.study.splits > 1:
        return SPLITS
    cells = [name for name in results.cells if len(results.confirmed_of(name))]
    if cells and all(len(class_means(results, name)) for name in cells):
        return CLASSES_SEARCHES if searches(results) else CLASSES
    return SEARCHES if searches(results) else SEEDS


def covers_of(results: Results, key: str, name: str) -> str:
    """As `covers`, of a cell's interval of any score: only the objective has scores of classes."""
    found = covers(results)
    if key == results.objective(results.cells[name].dataset):
        return found
    return {CLASSES: SEEDS, CLASSES_SEARCHES: SEARCHES}.get(found, found)


def coverage(results: Results, keys: Iterable[str]) -> str:
    """What the intervals of these scores cover, in words for captions."""
    name = {cell.dataset: name for name, cell in results.cells.items()}
    by_text: dict[str, list[str]] = {}
    for key in keys:
        for own in name.values():
            of = by_text.setdefault(covers_of(results, key, own), [])
            of += [metric_label(metric_of(key))] * (metric_label(metric_of(key)) not in of)
    texts = [f"{text} ({', '.join(of)})" if len(by_text) > 1 else text for text, of in by_text.items()]
    corrected = f"; {CORRECTED}" if results.overlap else ""
    return "; ".join(texts) + corrected


def class_means(results: Results, name: str) -> pd.DataFrame:
    """A cell's mean objective of each class in percent: a row per seed, a column per class; row `QUERIES`.

    Empty if a trial left none, as older ones do.
    """
    place = f"{FIGURE} of {name}"
    if place not in results.analyses:
        results.analyses[place] = _class_means(results, name)
    return results.analyses[place]


def _class_means(results: Results, name: str) -> pd.DataFrame:
    dataset = results.cells[name].dataset
    score = ScoreKey.parse(results.objective(dataset))
    found: dict[int, pd.Series] = {}
    counts = pd.Series(dtype=float)
    rows = results.confirmed_of(name)
    for seed, key in zip(rows["seed"], rows["key"].astype(str), strict=True):
        saved = results.figures.of(FIGURE, key, score.set, partial(_saved, results, key, score))
        if not len(saved):
            return pd.DataFrame()
        found[int(seed)] = pd.Series(100 * saved["mean"].astype(float), saved["class"])
        counts = pd.Series(saved["queries"].astype(float), saved["class"])
    return pd.DataFrame({**found, QUERIES: counts}).T


def summary_at(results: Results, name: str, key: str, prefix: str) -> dict[str, Any]:
    """`summary_of` a cell's score, with the interval that `covers_of` names."""
    row = summary_of(results.values(name, key), prefix, overlap=results.overlap)
    return with_estimate(row, of_score(results, key, {name: 1.0}), f"{prefix} ")


def of_score(results: Results, key: str, weights: Mapping[str, float]) -> Estimate | None:
    """`of_weights`, cut at the bounds of a score."""
    found = of_weights(results, key, weights)
    low, high = SCORE
    if found is None or not low <= found.mean <= high:
        return found
    return found._replace(low=max(found.low, low), high=min(found.high, high))


def of_difference(
    results: Results, key: str, first: Mapping[str, float], second: Mapping[str, float]
) -> Estimate | None:
    """The mean difference of two methods, paired by seed and class; None as in `of_weights`."""
    return of_weights(
        results, key, {name: first.get(name, 0.0) - second.get(name, 0.0) for name in {**first, **second}}
    )


def of_weights(results: Results, key: str, weights: Mapping[str, float]) -> Estimate | None:
    """The weighted sum of cells' mean scores, with the interval that `covers_of` names.

    None if that is Student's t over blocks (`statistics.summary`).
    """
    own = [weight * results.values(name, key) for name, weight in weights.items()]
    values = pd.concat(own, axis=1, join="inner").dropna().sum(axis=1)
    if results.study.splits > 1:
        return None
    return over_seeds(values, class_terms(results, key, weights), search_terms(results, weights, key))


def over_seeds(values: pd.Series, classes: Sequence[Term], searches: Sequence[Term]) -> Estimate | None:
    """The mean of values, one per seed, with further variance; None without any, or with one seed."""
    if len(values) < 2 or not (classes or searches):
        return None
    seeds = Term(statistics.mean_variance(values), len(values) - 1.0)
    return estimate(float(values.mean()), [seeds, *classes], searches)


def class_terms(results: Results, key: str, weights: Mapping[str, float]) -> list[Term]:
    """What the choice of the test classes adds to the variance of a weighted sum; empty where that is not known."""
    if covers_of(results, key, next(iter(weights))) not in (CLASSES, CLASSES_SEARCHES):
        return []
    tables = [class_means(results, name) for name in weights]
    rows = sorted(set.intersection(*(set(own.index) for own in tables)) - {QUERIES})
    columns = sorted(set.intersection(*(set(own.columns) for own in tables)))
    if not rows or len(columns) < 2:
        return []
    counts = tables[0].loc[QUERIES, columns].to_numpy()
    weighted = zip(tables, weights.values(), strict=True)
    return [
        class_term(sum(weight * own.loc[rows, columns].to_numpy().mean(axis=0) for own, weight in weighted), counts)
    ]


def class_term(means: ArrayLike, counts: ArrayLike) -> Term:
    """The variance of the mean over all queries, by a bootstrap of whole classes.

    Parameters
    ----------
    means : (C,), of at least 2 classes, over seeds.
    counts : (C,), queries of each class.
    """
    values, queries = np.asarray(means, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    rest, classes = queries * (values - values @ queries / queries.sum()), values.size
    return Term(float(rest @ rest) * classes / (classes - 1) / float(queries.sum()) ** 2, classes - 1.0)


def with_estimate(row: dict[str, Any], own: Estimate | None, prefix: str = "") -> dict[str, Any]:
    """A row with its interval, and its p if it has one, replaced by those of an estimate; with a prefix p stays."""
    if own is None:
        return row
    found = row | {f"{prefix}low": own.low, f"{prefix}high": own.high}
    return found | ({"p": own.p} if "p" in row and not prefix else {})


def _saved(results: Results, key: str, score: ScoreKey) -> dict[str, np.ndarray]:
    arrays = results.classes(key)
    if str(score) not in arrays:
        return {}
    return {
        "mean": arrays[str(score)].astype(np.float16),
        "class": arrays[f"{score.group}/class"].astype(np.int32),
        "queries": arrays[f"{score.group}/queries"].astype(np.int32),
    }
