"""Reference values of papers beside reproduced ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dml.report.analysis.intervals import summary_of
from dml.report.labels import Texts, joined, metric_label
from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.reference_values import cells_of, citations, lookup
from dml.report.results import Results
from dml.report.sections._rows import interval_note
from dml.types import ScoreKey

say = Texts(__file__)

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
    """One row per reference value and matching cell; values of metrics that the study does not evaluate are left out.

    Raises
    ------
    ValueError : the study names a row that no paper has.
    """
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
