"""Which interval is shown, and what it covers: the one place that decides it.

- Several class splits: Student's t over splits, `Results.values`. It covers splits, seeds and classes.
- One split, whose trials all left each class's scores: seeds and classes together (`over_classes`).
- Seeds that were added while comparisons were undecided (`seeds: auto`): over seeds, adjusted for all planned looks.
- Otherwise: Student's t over seeds.

Only scores of the study's objective have class scores, and only winners and comparisons with them ask for them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dml import sequential
from dml.report.analysis.over_classes import Estimate, over_class_means
from dml.report.once import once
from dml.report.results import Results

SPLITS, CLASSES, SEEDS = "class splits, seeds and classes", "seeds and classes", "seeds"
FIGURE = "classes"  # of `FigureData`, which publishes what is kept


def planned(results: Results) -> tuple[int, ...] | None:
    """All looks of `seeds: auto`, by numbers of seeds; None if the seeds are listed."""
    return None if results.study.auto_seeds is None else results.study.auto_seeds.looks


@once
def looks_made(results: Results) -> int:
    """How often comparisons were looked at, with `seeds: auto`."""
    most = max((len(results.confirmed_of(name)) for name in results.cells), default=0)
    return sum(n <= most for n in planned(results) or ())


@once
def covers(results: Results) -> str:
    """What the intervals of winners and of comparisons with them cover."""
    if results.study.splits > 1:
        return SPLITS
    if (looks := planned(results)) is not None:
        made = f"{looks_made(results)} of {len(looks)} planned looks"
        return f"{SEEDS}, and are adjusted for {made} at which seeds were added or not"
    cells = [name for name in results.cells if len(results.confirmed_of(name))]
    return CLASSES if cells and all(len(class_means(results, name)) for name in cells) else SEEDS


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
    part, level, metric = results.objective(dataset).split("/", 2)
    found: dict[int, pd.Series] = {}
    counts = pd.Series(dtype=float)
    rows = results.confirmed_of(name)
    for seed, key in zip(rows["seed"], rows["key"].astype(str), strict=True):
        saved = results.figures.of(FIGURE, key, part, partial(_saved, results, key, part, level, metric))
        if not len(saved):
            return pd.DataFrame()
        found[int(seed)] = pd.Series(100 * saved["mean"].astype(float), saved["class"])
        counts = pd.Series(saved["queries"].astype(float), saved["class"])
    return pd.DataFrame({**found, -1: counts}).T


def of_score(results: Results, name: str) -> Estimate | None:
    """The mean objective with its interval over seeds and classes; None if another interval is shown."""
    if planned(results) is not None:
        return _looked_at(results, results.values(name, _key(results, name)))
    return _estimate(class_means(results, name)) if covers(results) == CLASSES else None


def of_difference(results: Results, first: str, second: str) -> Estimate | None:
    """The mean difference of two cells, paired by seed and class; None if another interval is shown."""
    if planned(results) is not None:
        own, other = (results.values(name, _key(results, name)) for name in (first, second))
        return _looked_at(results, (own - other).dropna())
    if covers(results) != CLASSES:
        return None
    a, b = class_means(results, first), class_means(results, second)
    rows, columns = a.index.intersection(b.index), a.columns.intersection(b.columns)
    both = a.loc[rows, columns] - b.loc[rows, columns]
    both.loc[-1] = a.loc[-1, columns]
    return _estimate(both)


def with_estimate(row: dict[str, Any], own: Estimate | None, prefix: str = "") -> dict[str, Any]:
    """A row with its interval, and its p if it has one, replaced by those of an estimate."""
    if own is None:
        return row
    found = row | {f"{prefix}low": own.low, f"{prefix}high": own.high}
    return found | ({"p": own.p} if "p" in row else {})


def _key(results: Results, name: str) -> str:
    return results.objective(results.cells[name].dataset)


def _looked_at(results: Results, values: pd.Series) -> Estimate | None:
    """A mean over seeds, adjusted for the planned looks."""
    looks = planned(results)
    own = sequential.estimate(values.sort_index().to_numpy(), looks) if looks else None
    return None if own is None or not own.look else Estimate(own.mean, own.low, own.high, own.p)


def _estimate(table: pd.DataFrame) -> Estimate | None:
    means = table.drop(index=-1)
    if min(means.shape) < 2:
        return None
    return over_class_means(means.to_numpy(), table.loc[-1].to_numpy())


def _saved(results: Results, key: str, part: str, level: str, metric: str) -> dict[str, np.ndarray]:
    arrays = results.classes(key)
    place = f"{part}/{level}/"
    if place + metric not in arrays:
        return {}
    return {
        "mean": arrays[place + metric].astype(np.float16),
        "class": arrays[place + "class"].astype(np.int32),
        "queries": arrays[place + "queries"].astype(np.int32),
    }
