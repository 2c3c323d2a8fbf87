"""The tables of what ran: the settings that each search chose, what training logged, and what failed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dml.report.published import metric_label
from dml.report.results import Results, parsed, readable
from dml.report.table import Column, Table
from dml.report.tables import identity, identity_columns
from dml.types import Cell


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


def _is_searched(results: Results, cell: Cell, key: str) -> bool:
    """Whether a flat key such as `loss.margin` was searched in this cell, not fixed by the study."""
    kind, _, name = key.partition(".")
    spaces = {"loss": cell.loss.search, "training": results.study.training.search}
    if kind == "miner":
        return name in results.study.miner.search or (cell.miner is not None and name in cell.miner.search)
    return name in spaces.get(kind, {})
