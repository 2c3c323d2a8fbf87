"""Which cells reproduce which published numbers."""

from __future__ import annotations

from typing import Any

from dml.config import PublishedSection
from dml.report import published
from dml.report.labels import metric_label
from dml.report.results import Results
from dml.types import Cell

ATTRIBUTES = ("dataset", "noise", "rate", "loss", "positives", "negatives")


def matching(results: Results, spec: PublishedSection) -> list[str]:
    """The names of the cells that a published row is compared with: those of rate 0, unless `match` has a `rate`."""
    wanted = {"rate": 0.0, **spec.match}
    found = []
    for name, cell in results.cells.items():
        dataset = results.study.dataset(cell.dataset)
        if "dataset" not in wanted and spec.dataset not in (cell.dataset, dataset.source):
            continue
        if all(_attribute(cell, key) == value for key, value in wanted.items()):
            found.append(name)
    return found


def published_by_cell(results: Results) -> dict[tuple[str, str], float]:
    """Published values in percent, by cell and score key."""
    spelt = {metric_label(metric): metric for metric in results.study.evaluation.metrics}
    found = {}
    for spec in results.study.published:
        for metric, value in published.lookup(spec).items():
            for name in matching(results, spec) if metric in spelt else []:
                found[name, f"{spec.set}/{spec.level}/{spelt[metric]}"] = value
    return found


def _attribute(cell: Cell, key: str) -> Any:
    """An attribute of a cell by its name in a study's `match`: `loss`, `rate`, `loss.margin`, ..."""
    head, _, setting = key.partition(".")
    if head == "loss":
        return cell.loss.settings.get(setting) if setting else cell.loss.name
    if head not in ATTRIBUTES:
        raise ValueError(f"published: match has {key!r}; choices: {', '.join(ATTRIBUTES)}, loss.<setting>")
    return getattr(cell, head)
