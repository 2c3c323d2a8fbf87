"""The numbers that papers publish (`papers/<paper>/published.csv`, in percent), beside reproduced ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dml.config import ReferenceSection
from dml.config.compare import matching
from dml.discovery import suggestion
from dml.papers import papers
from dml.report.analysis.intervals import summary_of
from dml.report.labels import Texts, joined, metric_label
from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.results import Results
from dml.report.sections._rows import interval_note
from dml.types import ScoreKey

say = Texts(__file__)

COLUMNS = ("paper", "table", "dataset", "labels", "method", "metric", "value")


def table() -> pd.DataFrame:
    """Every reference value: columns paper, table, dataset, labels, method, metric (str) and value (percent)."""
    rows = [{"paper": paper.name, **row} for paper in papers() for row in paper.rows("published.csv")]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"value": float})


def lookup(spec: ReferenceSection) -> dict[str, float]:
    """What a paper publishes for one method: metric as the paper writes it -> percent, in the paper's order."""
    rows = table()
    for column in ("paper", "table", "dataset", "labels", "method"):
        value = getattr(spec, column)
        matching = rows[rows[column] == value]
        if matching.empty:
            choices = sorted(rows[column].unique())
            raise ValueError(f"reference_values: no row has {column} {value!r}{suggestion(value, choices)}")
        rows = matching
    return dict(zip(rows["metric"], rows["value"], strict=True))


def cells_of(results: Results, spec: ReferenceSection) -> list[str]:
    """The names of the cells that a paper's row is compared with: those of rate 0, unless `match` has a `rate`."""
    match = {"rate": 0.0, **spec.match}
    cells = matching(results.cells.values(), match)
    if "dataset" not in match:
        cells = [c for c in cells if spec.dataset in (c.dataset, results.study.dataset(c.dataset).name)]
    return [cell.name for cell in cells]


def reference_values_by_cell(results: Results) -> dict[tuple[str, str], float]:
    """Reference values in percent, by cell and score key."""
    return {(name, key): value for spec, _, value, key in _evaluated(results) for name in cells_of(results, spec)}


def _evaluated(results: Results) -> Iterator[tuple[ReferenceSection, str, float, str]]:
    """Each reference value with its metric, as the paper writes it, and the score key, if the study evaluates it."""
    metrics = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    for spec in results.study.reference_values:
        for metric, value in lookup(spec).items():
            if metric in metrics:
                yield spec, metric, value, str(ScoreKey(spec.set, spec.level, metrics[metric]))


REPRODUCED = "reproduced"


class ReferenceValues:
    """Each reference value beside what the study's cells reproduce."""

    anchor, title = "published", "Published and reproduced"

    def applies(self, results: Results) -> bool:
        """The study names rows of papers."""
        return bool(results.study.reference_values)

    def content(self, results: Results) -> Iterator[Block | None]:
        cited = {paper.name: paper.citation for paper in papers()}
        names = dict.fromkeys(spec.paper for spec in results.study.reference_values)
        yield Paragraph("; ".join(cited.get(name) or name for name in names) + ".")
        table = reference_values_beside(results)
        yield Paragraph(table.caption) if table.frame.empty else table


def reference_values_beside(results: Results) -> Table:
    """One row per reference value and matching cell, without metrics that the study does not evaluate."""
    rows = []
    for spec, metric, value, key in _evaluated(results):
        cells = cells_of(results, spec)
        for name in cells or [""]:
            values = results.values(name, key) if name else pd.Series(dtype=float)
            row: dict[str, Any] = {"source": f"{spec.paper}, table {spec.table}", "labels": spec.labels}
            row |= {"method": spec.method, "metric": metric, "published": value}
            row |= summary_of(values, "reproduced", overlap=results.overlap)
            row["difference"] = row["reproduced mean"] - value
            state = REPRODUCED if len(values) else "no seed finished"
            rows.append(row | {"state": state if cells else "no such cell in this study", "cell": name})
    published = dict.fromkeys(metric for spec in results.study.reference_values for metric in lookup(spec))
    left_out = [metric for metric in published if metric not in map(metric_label, results.study.evaluation.metrics)]
    columns = [
        Column("source", "Source"),
        Column("labels", "Labels"),
        Column("method", "Method", "name"),
        Column("metric", "Metric", "name"),
        Column("published", "Published", "percent"),
        Column("reproduced", "Reproduced", "score"),
        Column("difference", "Difference", "difference", "reproduced minus published, in points"),
    ]
    if any(row["state"] != REPRODUCED for row in rows):
        columns.append(Column("state", "State", "status"))
    more = say("left_out", metrics=", ".join(left_out)) if left_out else ""
    caption = joined(say("table", shown=interval_note(results)), more)
    return Table("published", "Published and reproduced", caption, tuple(columns), pd.DataFrame(rows))
