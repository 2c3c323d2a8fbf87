"""The tables of a study's scores: a row per cell, a column per metric.

Scores are percentages. `mean`, `std` (over seeds, n - 1) and the 95% interval `low`, `high` are those of
`dml.statistics.summary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.report.published import metric_label
from dml.report.results import Method, Results, group_label, readable
from dml.report.table import Column, Table
from dml.types import Cell


def summary_of(values: Iterable[float], prefix: str) -> dict[str, Any]:
    """`<prefix> mean`, `std`, `low`, `high`, `n` of some values; NaN where there are none."""
    found = np.asarray(list(values), dtype=float)
    if not len(found):
        return {f"{prefix} {part}": np.nan for part in ("mean", "std", "low", "high")} | {f"{prefix} n": 0}
    s = statistics.summary(found)
    single = len(found) < 2
    return {
        f"{prefix} mean": s.mean,
        f"{prefix} std": np.nan if single else s.std,
        f"{prefix} low": np.nan if single else s.low,
        f"{prefix} high": np.nan if single else s.high,
        f"{prefix} n": s.n,
    }


def interval_note(results: Results) -> str:
    """What a score column shows, for captions."""
    return f"mean ± standard deviation over {len(results.study.seeds)} seeds; below, the 95% interval of the mean"


def identity(cell: Cell, method: Method) -> dict[str, Any]:
    """The columns that say which cell a row is about."""
    return {
        "dataset": cell.dataset,
        "noise": readable(cell.noise),
        "rate": cell.rate,
        "loss": readable(method.loss),
        "positives": readable(method.positives),
        "negatives": readable(method.negatives),
    }


def identity_columns(results: Results, keep_rate: bool = True) -> tuple[Column, ...]:
    """The identity's columns, without those that are the same in every cell."""
    rows = pd.DataFrame([identity(cell, results.methods[name]) for name, cell in results.cells.items()])
    labels = {
        "dataset": "Dataset",
        "noise": "Noise",
        "loss": "Loss",
        "positives": "Positives",
        "negatives": "Negatives",
    }
    columns = [Column(key, label, "name") for key, label in labels.items() if rows[key].nunique() > 1]
    if keep_rate and rows["rate"].nunique() > 1:
        at = 1 + max((i for i, c in enumerate(columns) if c.key in ("dataset", "noise")), default=-1)
        columns.insert(at, Column("rate", "Noise rate", "rate", "the share of training labels that are wrong"))
    return tuple(columns) or (Column("loss", "Loss", "name"),)


def main_results(results: Results) -> list[Table]:
    """One table per set and level: a row per cell, a column per metric."""
    groups: dict[str, list[str]] = {}
    for key in results.score_keys:
        groups.setdefault(key.rsplit("/", 1)[0], []).append(key)
    tables = []
    for group, keys in groups.items():
        rows = []
        for name, cell in results.cells.items():
            row = identity(cell, results.methods[name])
            for key in keys:
                row |= summary_of(results.values(name, key), _metric(key))
            rows.append(row | {"state": _state(results, name), "cell": name})
        columns = [*identity_columns(results), *(Column(_metric(k), metric_label(_metric(k)), "score") for k in keys)]
        if results.missing():
            columns.append(Column("state", "Seeds", "status", "seeds that finished, of those asked for"))
        title = group_label(keys[0])
        slug = group.replace("/", "-")
        tables.append(
            Table(
                f"results-{slug}", title, f"In percent: {interval_note(results)}.", tuple(columns), pd.DataFrame(rows)
            )
        )
    return tables


def curves_for_dvc(results: Results) -> pd.DataFrame:
    """What `dvc plots` draws: columns rate, method, score, low, high (percent), one row per cell with a result."""
    rows = []
    for name, cell in results.cells.items():
        s = summary_of(results.values(name, results.objective(cell.dataset)), "s")
        label = results.methods[name].label
        if len(results.study.datasets) > 1:
            label = f"{cell.dataset}: {label}"
        if len({c.noise for c in results.cells.values()}) > 1:
            label = f"{label} ({readable(cell.noise)})"
        if s["s n"]:
            rows.append(
                {"rate": cell.rate, "method": label, "score": s["s mean"], "low": s["s low"], "high": s["s high"]}
            )
    return pd.DataFrame(rows, columns=["rate", "method", "score", "low", "high"])


def _metric(key: str) -> str:
    return key.split("/", 2)[2]


def _state(results: Results, cell: str) -> str:
    trials = results.trials[(results.trials["cell"] == cell) & (results.trials["phase"] == "confirm")]
    asked = len(results.study.seeds)
    done = int((results.confirmed["cell"] == cell).sum())
    failed = int((trials["status"] == "failed").sum())
    return f"{done} of {asked}" + (f", {failed} failed" if failed else "")
