"""Paired comparisons over queries: each query's score is averaged over the seeds that both methods finished.

A comparison over seeds asks whether another training would give the same order; one over queries asks whether other
images would, with these trained networks. With few seeds only the second has any power. Queries of one class resemble
each other, so the intervals say nothing of other classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.analysis.paired import adjusted
from dml.report.results import Results

WORK = 100_000_000  # random numbers for one bootstrap


def query_scores(results: Results, name: str, key: str) -> pd.DataFrame:
    """A cell's scores of single queries in percent: a row per query (its image's row), a column per seed."""
    rows = results.confirmed_of(name)
    found: dict[int, list[pd.Series]] = {}
    for seed, trial in zip(rows["seed"], rows["key"], strict=True):
        saved = results.queries(str(trial))
        if key in saved:
            own = pd.Series(100.0 * saved[key], saved[f"{key.split('/', 1)[0]}/index"])
            found.setdefault(seed, []).append(own)
    return pd.DataFrame({seed: pd.concat(own) for seed, own in found.items()})  # class splits have other queries


def compared(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Any]:
    """`difference`, `low`, `high`, `p`, `queries` and `seeds` of first minus second (`dml.statistics.compare`)."""
    seeds, queries = first.columns.intersection(second.columns), first.index.intersection(second.index)
    found = {"difference": np.nan, "low": np.nan, "high": np.nan, "p": np.nan, "queries": 0, "seeds": len(seeds)}
    if not len(seeds):
        return found
    a, b = (frame.loc[queries, seeds].mean(axis=1, skipna=False) for frame in (first, second))
    if not (a - b).notna().any():
        return found
    c = statistics.compare(a, b, resamples=min(10_000, max(1000, WORK // len(queries))))
    return found | {"difference": c.difference, "low": c.low, "high": c.high, "p": c.p, "queries": c.n}


def best_against_others(results: Results) -> pd.DataFrame:
    """The method with the highest objective over queries, against each other one at the same data and noise rate.

    Returns
    -------
    Columns dataset, noise, rate, winner, other (names of cells), those of `compared`, and `p adjusted` for the choice
    of the winner.
    """
    rows: list[dict[str, Any]] = []
    for group in results.comparisons:
        scores = {name: query_scores(results, name, results.objective(group[0])) for name in results.cells_of(*group)}
        ranked = sorted((n for n, v in scores.items() if v.size), key=lambda name: -np.nanmean(scores[name]))
        if len(ranked) < 2:
            continue
        first = dict(zip(("dataset", "noise", "rate"), group, strict=True)) | {"winner": ranked[0]}
        others = [first | {"other": n} | compared(scores[ranked[0]], scores[n]) for n in ranked[1:]]
        rows += adjusted(others, "queries")
    return pd.DataFrame(rows)
