"""Published numbers beside reproduced ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dml.config import PublishedSpec
from dml.report import published
from dml.report.published import metric_label
from dml.report.results import Results
from dml.report.table import Column, Table
from dml.report.tables import interval_note, summary_of
from dml.types import Cell


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
    caption = f"In percent. Reproduced: {interval_note(results)}. Difference: reproduced less published, in points."
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


def published_by_cell(results: Results) -> dict[tuple[str, str], float]:
    """Published values in percent, by cell and score key."""
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    found = {}
    for spec in results.study.published:
        for metric, value in published.lookup(spec).items():
            for name in matching(results, spec) if metric in spelt else []:
                found[name, f"{spec.set}/{spec.level}/{spelt[metric]}"] = value
    return found
