"""The settings that each search chose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dml.config import best_point
from dml.report.labels import Texts, joined, metric_label, readable
from dml.report.page.blocks import Block, Column, Table
from dml.report.results import Results, parsed
from dml.report.sections._rows import identity, identity_columns
from dml.types import Cell

say = Texts(__file__)

STOPPING = (
    Column("stop", "Stop", "count", say("stop")),
    Column("untrained", "Untrained", "percent", "validation score of the best trial before its first step"),
    Column("at the end", "All steps", "percent", "validation score of the best trial after all steps"),
)


class Settings:
    """What the searches chose."""

    anchor, title = "settings", "Settings and searches"

    def applies(self, results: Results) -> bool:
        """At least one trial."""
        return not results.trials.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        yield best_settings(results)


def best_settings(results: Results) -> Table | None:
    """One row per cell: the chosen settings, their validation score and the number of trials."""
    rows, keys, stops = [], [], results.study.search.stop == "best"
    for name, cell in results.cells.items():
        tried = results.tuned_of(name)
        tried = tried[tried["split"] == 0]  # each split is tuned by itself, on other validation classes
        finished = tried[(tried["status"] == "finished") & tried["objective"].notna()]
        scores = 100 * finished["objective"].astype(float)
        # the first of equally good trials, which are in the order of their numbers
        best = finished.iloc[scores.argmax()] if len(scores) else None
        source = next(iter(results.confirmed_of(name)["settings"]), None) if best is None else best["settings"]
        settings = parsed(source) or {}
        spaces = {"loss": cell.loss.search, "training": results.study.training.search}
        parts = {key: key.partition(".") for key in settings if key not in cell.grid_point}
        searched = {key: settings[key] for key, (kind, _, setting) in parts.items() if setting in spaces.get(kind, {})}
        keys += [key for key in searched if key not in keys]
        row: dict[str, Any] = identity(results, name)
        row |= {"validation": scores.max(), "default": next(iter(scores), np.nan)}
        if stops and best is not None:
            row |= _stop(results, cell, best["curve"])
        row |= {"trials": len(scores), "tried": len(tried)}
        rows.append(row | searched | {"cell": name})
    if not keys and not len(results.tuned):
        return None
    columns = (
        *identity_columns(results),
        *(Column(key, readable(key.split(".", 1)[-1]), "number", key) for key in keys),
        Column("validation", "Validation", "percent", "the objective on validation classes, best trial"),
        *(STOPPING if stops else ()),
        Column("trials", "Trials", "count", "finished tuning trials"),
    )
    metric = metric_label(results.study.search.objective)
    splits = say("splits") if results.study.splits > 1 else ""
    caption = joined(say("table", metric=metric), say("stopped") if stops else "", splits)
    return Table("settings", "Best settings of each cell", caption, columns, pd.DataFrame(rows))


def _stop(results: Results, cell: Cell, curve: Any) -> dict[str, float]:
    """When a tuning trial was best, and its validation scores before the first and after the last step."""
    points, key = parsed(curve) or [], results.objective(cell.dataset, "validation")
    best, scored = best_point(points, key), {step: scores[key] for step, scores in points if key in scores}
    if best is None:
        return {}
    ends = {"untrained": scored.get(0, np.nan), "at the end": scored[max(scored)]}
    return {"stop": best[0]} | {name: 100 * float(value) for name, value in ends.items()}
