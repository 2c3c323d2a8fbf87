"""Which cells reproduce which published numbers."""

from __future__ import annotations

from dml.config import PublishedSection
from dml.config.matching import matching
from dml.report import published
from dml.report.labels import metric_label
from dml.report.results import Results
from dml.types import ScoreKey


def cells_of(results: Results, spec: PublishedSection) -> list[str]:
    """The names of the cells that a published row is compared with: those of rate 0, unless `match` has a `rate`."""
    wanted = {"rate": 0.0, **spec.match}
    found = matching(results.cells.values(), wanted)
    if "dataset" not in wanted:
        found = [c for c in found if spec.dataset in (c.dataset, results.study.dataset(c.dataset).source)]
    return [cell.name for cell in found]


def published_by_cell(results: Results) -> dict[tuple[str, str], float]:
    """Published values in percent, by cell and score key."""
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    found = {}
    for spec in results.study.published:
        for metric, value in published.lookup(spec).items():
            for name in cells_of(results, spec) if metric in spelt else []:
                found[name, str(ScoreKey(spec.set, spec.level, spelt[metric]))] = value
    return found
