"""The numbers that papers publish (`papers/<paper>/published.csv`, in percent), beside reproduced ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pandas as pd

from dml.config import ReferenceSection
from dml.config.compare import matching
from dml.discovery import suggestion
from dml.papers import Paper, papers
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
    return _table(papers())


@cache
def _table(of: tuple[Paper, ...]) -> pd.DataFrame:
    rows = [{"paper": paper.name, **row} for paper in of for row in paper.rows("published.csv")]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"value": float})


def citations(names: Iterable[str]) -> list[str]:
    """The papers of these names, as one cites them."""
    by_name = {paper.name: paper.citation for paper in papers()}
    return [by_name.get(name) or name for name in names]


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
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    values = {}
    for spec in results.study.reference_values:
        for metric, value in lookup(spec).items():
            for name in cells_of(results, spec) if metric in spelt else []:
                values[name, str(ScoreKey(spec.set, spec.level, spelt[metric]))] = value
    return values


REPRODUCED = "reproduced"


class ReferenceValues:
    """Each reference value beside what the study's cells reproduce."""

    anchor, title = "published", "Published and reproduced"

    def applies(self, results: Results) -> bool:
        """The study names rows of papers."""
        return bool(results.study.reference_values)

    def content(self, results: Results) -> Iterator[Block | None]:
        """The papers, and a table."""
        papers = dict.fromkeys(spec.paper for spec in results.study.reference_values)
        yield Paragraph("; ".join(citations(papers)) + ".")
        table = reference_values_beside(results)
        yield Paragraph(table.caption) if table.frame.empty else table


def reference_values_beside(results: Results) -> Table:
    """One row per reference value and matching cell, without metrics that the study does not evaluate."""
    rows = []
    evaluated = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    left_out: dict[str, None] = {}
    for spec in results.study.reference_values:
        cells = cells_of(results, spec)
        for metric, value in lookup(spec).items():
            if metric not in evaluated:
                left_out[metric] = None
                continue
            for name in cells or [""]:
                key = str(ScoreKey(spec.set, spec.level, evaluated[metric]))
                values = results.values(name, key) if name else pd.Series(dtype=float)
                row: dict[str, Any] = {"source": f"{spec.paper}, table {spec.table}", "labels": spec.labels}
                row |= {"method": spec.method, "metric": metric, "published": value}
                row |= summary_of(values, "reproduced", overlap=results.overlap)
                row["difference"] = row["reproduced mean"] - value
                row["state"] = _state(cells, values)
                rows.append(row | {"cell": name})
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


def _state(cells: list[str], values: pd.Series) -> str:
    if not cells:
        return "no such cell in this study"
    return REPRODUCED if len(values) else "no seed finished"
