"""All scores: a table per evaluated set and level, and each score against the noise rate."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.report.analysis.summaries import summary_of
from dml.report.figures.against_noise import against_noise
from dml.report.labels import group_label, metric_label, metric_of, score_label
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, interval_note


class AllResults:
    """Every cell and every score."""

    anchor, title = "results", "All results"

    def applies(self, results: Results) -> bool:
        """At least one confirmed score."""
        return bool(results.score_keys)

    def content(self, results: Results) -> Iterator[Block | None]:
        """The tables, then a folded figure for each score but the objective."""
        yield from main_results(results)
        for dataset, noise in results.conditions:
            if len(results.rates(dataset, noise)) > 1:
                for key in results.score_keys:
                    if key != results.objective(dataset) and not key.startswith("validation/"):
                        yield _drawing(results, dataset, noise, key)


def main_results(results: Results) -> list[Table]:
    """One table per set and level: a row per cell, a column per metric."""
    groups: dict[str, list[str]] = {}
    for key in results.score_keys:
        groups.setdefault(key.rsplit("/", 1)[0], []).append(key)
    tables = []
    for group, keys in groups.items():
        rows = []
        for name in results.cells:
            row = identity(results, name)
            for key in keys:
                row |= summary_of(results.values(name, key), metric_of(key))
            rows.append(row | {"state": _state(results, name), "cell": name})
        scores = [Column(metric_of(key), metric_label(metric_of(key)), "score") for key in keys]
        columns = [*identity_columns(results), *scores]
        if results.missing():
            columns.append(Column("state", "Seeds", "status", "finished seeds of those the study asks for"))
        caption = f"In percent: {interval_note(results)}."
        name = f"results-{group.replace('/', '-')}"
        tables.append(Table(name, group_label(keys[0]), caption, tuple(columns), pd.DataFrame(rows)))
    return tables


def _drawing(results: Results, dataset: str, noise: str, key: str) -> Folded:
    label, where = score_label(key), results.where(dataset, noise)
    name = "-".join(["noise", dataset, noise, *key.split("/")]).replace("@", "").replace("+", "plus")
    alt = f"{label} against the label-noise rate{where}."
    caption = f"{label}{where}. Mean over seeds and 95% confidence band."
    drawing = Drawing(name, against_noise(results, dataset, noise, key), alt, caption)
    return Folded(f"{label}, against noise{where}", (drawing,))


def _state(results: Results, cell: str) -> str:
    trials = results.trials[(results.trials["cell"] == cell) & (results.trials["phase"] == "confirm")]
    done, failed = int((results.confirmed["cell"] == cell).sum()), int((trials["status"] == "failed").sum())
    return f"{done} of {len(results.study.seeds)}" + (f", {failed} failed" if failed else "")
