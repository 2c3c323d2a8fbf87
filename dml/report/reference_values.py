"""Reference values, the numbers that papers publish: `papers/<paper>/published.csv`, a row per number.

A study's `reference_values` names rows. The column `table` is the table's number in the paper. `S1` is a supplement's
table, `S-fig1` its figure and `sec4.3` a section. Values are percentages, unless `metric` has another unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pandas as pd

from dml.config import ReferenceSection
from dml.config.compare import matching
from dml.discovery import suggestion
from dml.papers import Paper, papers
from dml.report.labels import metric_label
from dml.report.results import Results
from dml.types import ScoreKey

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
    known = {paper.name: paper.citation for paper in papers()}
    return [known.get(name) or name for name in names]


def lookup(spec: ReferenceSection) -> dict[str, float]:
    """What a paper publishes for one method: metric as the paper writes it -> percent, in the paper's order.

    Raises
    ------
    ValueError : no such row; names the first attribute without a match and its choices.
    """
    rows = table()
    for column in ("paper", "table", "dataset", "labels", "method"):
        given = getattr(spec, column)
        found = rows[rows[column] == given]
        if found.empty:
            choices = sorted(rows[column].unique())
            raise ValueError(f"reference_values: no row has {column} {given!r}{suggestion(given, choices)}")
        rows = found
    return dict(zip(rows["metric"], rows["value"], strict=True))


def cells_of(results: Results, spec: ReferenceSection) -> list[str]:
    """The names of the cells that a paper's row is compared with: those of rate 0, unless `match` has a `rate`."""
    wanted = {"rate": 0.0, **spec.match}
    found = matching(results.cells.values(), wanted)
    if "dataset" not in wanted:
        found = [c for c in found if spec.dataset in (c.dataset, results.study.dataset(c.dataset).name)]
    return [cell.name for cell in found]


def reference_values_by_cell(results: Results) -> dict[tuple[str, str], float]:
    """Reference values in percent, by cell and score key."""
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    found = {}
    for spec in results.study.reference_values:
        for metric, value in lookup(spec).items():
            for name in cells_of(results, spec) if metric in spelt else []:
                found[name, str(ScoreKey(spec.set, spec.level, spelt[metric]))] = value
    return found
