"""Which cells reproduce which reference values of papers."""

from __future__ import annotations

from dml.config import ReferenceSection
from dml.config.matching import matching
from dml.report import reference_values
from dml.report.labels import metric_label
from dml.report.results import Results
from dml.types import ScoreKey


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
        for metric, value in reference_values.lookup(spec).items():
            for name in cells_of(results, spec) if metric in spelt else []:
                found[name, str(ScoreKey(spec.set, spec.level, spelt[metric]))] = value
    return found
