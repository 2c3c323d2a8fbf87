"""Which interval is shown, and what it covers: the one place that decides it.

- Several class splits: Student's t over splits, `Results.values`. It covers splits, searches, seeds and classes.
- One split, whose trials all left each class's scores: seeds and classes together (`over_classes`).
- Otherwise: Student's t over seeds.

With one split, the part of a tuned method's search is added (`searched`).

Only scores of the study's objective have class scores, and only winners and comparisons with them ask for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dml.report.analysis.at_rate import Mix, mixed
from dml.report.analysis.over_classes import over_class_means
from dml.report.analysis.search_uncertainty import search_terms, searches
from dml.report.estimates import Estimate, Term, estimate
from dml.report.memo import once
from dml.report.results import Results
from dml.types import ScoreKey

SPLITS = "class splits, seeds, classes and searches"
CLASSES, SEEDS = "seeds and classes", "seeds"
CLASSES_SEARCHES, SEARCHES = "seeds, classes and searches", "seeds and searches"
FIGURE = "classes"  # of `FigureData`, which publishes what is kept


def over(results: Results) -> str:
    """What means are taken over and comparisons paired over, for captions: `seeds` or `class splits`."""
    return f"{results.study.block}s"


def of_searches(results: Results) -> str:
    """For captions of tests: ` and searches`, where their part is in them."""
    return " and searches" if searches(results) else ""


@once
def covers(results: Results) -> str:
    """What the intervals of winners and of comparisons with them cover."""
    if results.study.splits > 1:
        return SPLITS
    cells = [name for name in results.cells if len(results.confirmed_of(name))]
    if cells and all(len(class_means(results, name)) for name in cells):
        return CLASSES_SEARCHES if searches(results) else CLASSES
    return SEARCHES if searches(results) else SEEDS


def covers_of(results: Results, key: str, name: str) -> str:
    """As `covers`, of comparisons of a cell by any score: only the objective has scores of classes."""
    found = covers(results)
    if key == results.objective(results.cells[name].dataset):
        return found
    return {CLASSES: SEEDS, CLASSES_SEARCHES: SEARCHES}.get(found, found)


def class_means(results: Results, name: str) -> pd.DataFrame:
    """A cell's mean objective of each class in percent: a row per seed, a column per class; row -1: queries.

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
    return pd.DataFrame({**found, -1: counts}).T


def of_score(results: Results, key: str, mix: Mix) -> Estimate | None:
    """The mean score with the interval that `covers_of` names; None if that is Student's t over blocks."""
    found = _of_weights(results, key, [(mix, 1.0)])
    if found is None or not 0 <= found.mean <= 100:
        return found
    return found._replace(low=max(found.low, 0.0), high=min(found.high, 100.0))


def of_difference(results: Results, key: str, first: Mix, second: Mix) -> Estimate | None:
    """The mean difference of two methods, paired by seed and class; None as in `of_score`."""
    return _of_weights(results, key, [(first, 1.0), (second, -1.0)])


def _of_weights(results: Results, key: str, weighted: Sequence[tuple[Mix, float]]) -> Estimate | None:
    """Of a weighted sum of methods' scores."""
    found = covers_of(results, key, next(iter(weighted[0][0])))
    if found in (SPLITS, SEEDS):
        return None
    weights: Counter[str] = Counter()
    for mix, sign in weighted:
        weights.update({name: sign * share for name, share in mix.items()})
    terms = search_terms(results, weights, key) if found in (CLASSES_SEARCHES, SEARCHES) else []
    if found in (CLASSES_SEARCHES, CLASSES):
        table = _combined([_mixed_means(results, mix) for mix, _ in weighted], [sign for _, sign in weighted])
        return _over_classes(table, terms)
    return over_seeds(_summed(results, key, weighted), terms)


def over_seeds(values: pd.Series, searches: Sequence[Term]) -> Estimate | None:
    """The mean of values, one per seed, with further variance; None as Student's t has it, without any or with one."""
    if len(values) < 2 or not searches:
        return None
    return estimate(float(values.mean()), [Term(float(values.var()) / len(values), len(values) - 1.0)], searches)


def _summed(results: Results, key: str, weighted: Sequence[tuple[Mix, float]]) -> pd.Series:
    """The weighted sum on the seeds that all have."""
    own = [sign * mixed(results, mix, key) for mix, sign in weighted]
    return pd.concat(own, axis=1, join="inner").dropna().sum(axis=1)


def with_estimate(row: dict[str, Any], own: Estimate | None, prefix: str = "") -> dict[str, Any]:
    """A row with its interval, and its p if it has one, replaced by those of an estimate; with a prefix p stays."""
    if own is None:
        return row
    found = row | {f"{prefix}low": own.low, f"{prefix}high": own.high}
    return found | ({"p": own.p} if "p" in row and not prefix else {})


def _mixed_means(results: Results, mix: Mix) -> pd.DataFrame:
    """As `class_means`, of a method whose cells' rates are interpolated between."""
    return _combined([class_means(results, name) for name in mix], list(mix.values()))


def _combined(tables: Sequence[pd.DataFrame], weights: Sequence[float]) -> pd.DataFrame:
    """The weighted sum of means of classes, of the seeds and classes that all have; row -1: queries, of the first."""
    rows, columns = tables[0].index, tables[0].columns
    for own in tables[1:]:
        rows, columns = rows.intersection(own.index), columns.intersection(own.columns)
    first, *others = (weight * own.loc[rows, columns] for own, weight in zip(tables, weights, strict=True))
    found = sum(others, start=first)
    if -1 in rows:
        found.loc[-1] = tables[0].loc[-1, columns]
    return found


def _over_classes(table: pd.DataFrame, searches: Sequence[Term]) -> Estimate | None:
    means = table.drop(index=-1)
    if min(means.shape) < 2:
        return None
    return over_class_means(means.to_numpy(), table.loc[-1].to_numpy(), searches)


def _saved(results: Results, key: str, score: ScoreKey) -> dict[str, np.ndarray]:
    arrays = results.classes(key)
    if str(score) not in arrays:
        return {}
    return {
        "mean": arrays[str(score)].astype(np.float16),
        "class": arrays[f"{score.group}/class"].astype(np.int32),
        "queries": arrays[f"{score.group}/queries"].astype(np.int32),
    }
