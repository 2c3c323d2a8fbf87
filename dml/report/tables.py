"""The tables of a study: its results, the published numbers beside them, the best settings, and what failed.

Scores are percentages. `mean`, `std` (over seeds, n - 1) and the 95% interval `low`, `high` are those of
`dml.evaluation.statistics.summary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dml.config import PublishedSpec
from dml.evaluation import statistics
from dml.report import published
from dml.report.published import metric_label
from dml.report.results import Method, Results, group_label, parsed, readable
from dml.report.table import Column, Table
from dml.types import Cell

INTERVAL = (
    "mean ± standard deviation over seeds; below, the 95% confidence interval of the mean and the number of seeds"
)


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
        tables.append(Table(f"results-{slug}", title, f"Percent: {INTERVAL}.", tuple(columns), pd.DataFrame(rows)))
    return tables


def published_beside(results: Results) -> Table | None:
    """Each published number beside what this study's cells reproduced; None where the study names none."""
    rows = []
    for spec in results.study.published:
        cells = matching(results, spec)
        for metric, value in published.lookup(spec).items():
            ours = next((m for m in results.study.evaluation.metrics if metric_label(m) == metric), None)
            for name in cells or [""]:
                key = f"{spec.set}/{spec.level}/{ours}"
                values = results.values(name, key) if name and ours else pd.Series(dtype=float)
                row: dict[str, Any] = {
                    "source": f"{spec.paper}, table {spec.table}",
                    "labels": spec.labels,
                    "method": spec.method,
                }
                row |= {"metric": metric, "published": value, **summary_of(values, "reproduced")}
                row["difference"] = row["reproduced mean"] - value
                row["state"] = _why_not(cells, ours, values)
                rows.append(row | {"cell": name})
    if not rows:
        return None
    columns = [
        Column("source", "Source"),
        Column("labels", "Labels"),
        Column("method", "Method", "name"),
        Column("metric", "Metric", "name"),
        Column("published", "Published", "percent"),
        Column("reproduced", "Reproduced", "score"),
        Column("difference", "Difference", "difference", "reproduced less published, in points"),
    ]
    frame = pd.DataFrame(rows)
    if (frame["state"] != "reproduced").any():
        columns.append(Column("state", "State", "status"))
    caption = f"Percent. Reproduced: {INTERVAL}. Difference: reproduced less published, in points."
    return Table("published", "Published and reproduced", caption, tuple(columns), frame)


def matching(results: Results, spec: PublishedSpec) -> list[str]:
    """The names of the cells that a published row stands beside: without a `rate` in `match`, those of rate 0."""
    wanted = {"rate": 0.0, **spec.match}
    found = []
    for name, cell in results.cells.items():
        dataset = results.study.dataset(cell.dataset)
        if "dataset" not in wanted and spec.dataset not in (cell.dataset, dataset.source):
            continue
        if all(_attribute(cell, key) == value for key, value in wanted.items()):
            found.append(name)
    return found


def best_settings(results: Results) -> Table | None:
    """What each cell's search chose, with its validation score and the number of trials."""
    rows, keys = [], []
    for name, cell in results.cells.items():
        tried = results.tuned[results.tuned["cell"] == name]
        done = tried[(tried["status"] == "finished") & tried["objective"].notna()]
        chosen = results.confirmed[results.confirmed["cell"] == name]
        source = done.sort_values(["objective", "number"], ascending=[False, True]) if len(done) else chosen
        settings = (parsed(source.iloc[0]["settings"]) or {}) if len(source) else {}
        searched = {k: v for k, v in settings.items() if _is_searched(results, cell, k)}
        keys += [key for key in searched if key not in keys]
        row = identity(cell, results.methods[name])
        row["validation"] = 100 * float(done["objective"].max()) if len(done) else np.nan
        row["default"] = 100 * float(done.iloc[0]["objective"]) if len(done) else np.nan
        row |= {"trials": len(done), "tried": len(tried)}
        rows.append(row | searched | {"cell": name})
    if not keys and not len(results.tuned):
        return None
    frame = pd.DataFrame(rows)
    for key in keys:
        frame[key] = frame.get(key, np.nan)
    columns = [
        *identity_columns(results),
        *(Column(key, readable(key.split(".", 1)[-1]), "number", key) for key in keys),
        Column("validation", "Validation", "percent", "the objective on validation classes, best trial"),
        Column("trials", "Trials", "count", "finished tuning trials"),
    ]
    objective = metric_label(results.study.search.objective)
    caption = (
        f"Chosen by {objective} on validation classes, which are never test classes. Validation scores in percent."
    )
    return Table("settings", "Best settings of each cell", caption, tuple(columns), frame)


def diagnostics(results: Results) -> Table | None:
    """What training logged about itself: the mean over a cell's seeds."""
    rows, keys = [], []
    for name, cell in results.cells.items():
        trials = results.confirmed[results.confirmed["cell"] == name]
        logged = pd.DataFrame([parsed(value) or {} for value in trials["diagnostics"]])
        means = {k: float(v) for k, v in logged.mean(numeric_only=True).items()} if len(logged) else {}
        keys += [key for key in means if key not in keys]
        row = identity(cell, results.methods[name]) | means
        rows.append(row | {"seconds": float(trials["seconds"].mean()) if len(trials) else np.nan, "cell": name})
    if not keys:
        return None
    columns = [*identity_columns(results), *(Column(k, readable(k).capitalize(), "number", k) for k in keys)]
    columns.append(Column("seconds", "Time a trial", "seconds"))
    caption = "Means over the seeds of each cell's confirming trials."
    return Table("diagnostics", "How training went", caption, tuple(columns), pd.DataFrame(rows))


def failures(results: Results) -> pd.DataFrame:
    """The trials that failed: cell, phase, number, seed, error (whole) and its last line."""
    failed = results.trials[results.trials["status"] == "failed"]
    columns = ["key", "cell", "phase", "number", "seed", "error"]
    frame = failed[columns].sort_values(["cell", "phase", "number", "seed", "key"]).reset_index(drop=True)
    frame["error"] = frame["error"].fillna("no message was kept").astype(str)
    frame["headline"] = [error.strip().rpartition("\n")[2].strip() for error in frame["error"]]
    return frame


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


def _why_not(cells: list[str], ours: str | None, values: pd.Series) -> str:
    if not cells:
        return "no such cell in this study"
    if ours is None:
        return "metric not evaluated"
    return "reproduced" if len(values) else "no seed finished"


def _attribute(cell: Cell, key: str) -> Any:
    """An attribute of a cell by its name in a study's `match`: `loss`, `rate`, `loss.margin`, ..."""
    head, _, setting = key.partition(".")
    if head == "loss":
        return cell.loss.settings.get(setting) if setting else cell.loss.name
    if not hasattr(cell, head):
        raise ValueError(f"published: match has {key!r}; choices: dataset, noise, rate, loss, positives, negatives")
    return getattr(cell, head)


def _is_searched(results: Results, cell: Cell, key: str) -> bool:
    """Whether a flat key such as `loss.margin` was searched in this cell, not fixed by the study."""
    kind, _, name = key.partition(".")
    spaces = {"loss": cell.loss.search, "training": results.study.training.search}
    if kind == "miner":
        return name in results.study.miner.search or (cell.miner is not None and name in cell.miner.search)
    return name in spaces.get(kind, {})
