"""All scores: a table per evaluated set and level, and each score against the noise rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from dml.report.analysis.interval_coverage import summary_at
from dml.report.figures.against_noise import against_noise
from dml.report.figures.best import best_lines, best_methods, is_many, points_of, said
from dml.report.labels import group_label, metric_label, metric_of, noise_axis, score_label
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, interval_note, means, score_frame
from dml.report.texts import Texts
from dml.types import VALIDATION, ScoreKey

say = Texts(__file__)

OPEN = 3  # datasets and noise models whose figures are not folded once more, at most


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
                keys = [key for key in results.score_keys if ScoreKey.parse(key).set != VALIDATION]
                figures = tuple(_drawing(results, dataset, noise, k) for k in keys if k != results.objective(dataset))
                if len(results.conditions) > OPEN and figures:
                    yield Folded(f"Other scores, against noise{results.where(dataset, noise)}", figures)
                else:
                    yield from figures


def main_results(results: Results) -> list[Table]:
    """One table per set and level: a row per cell, a column per metric."""
    groups: dict[str, list[str]] = {}
    for key in results.score_keys:
        groups.setdefault(ScoreKey.parse(key).group, []).append(key)
    tables, states = [], _states(results)
    for group, keys in groups.items():
        rows = []
        for name in results.cells:
            row = identity(results, name)
            for key in keys:
                row |= summary_at(results, name, key, metric_of(key))
            rows.append(row | {"state": states[name], "cell": name})
        scores = [Column(metric_of(key), metric_label(metric_of(key)), "score") for key in keys]
        columns = [*identity_columns(results), *scores]
        if results.missing():
            columns.append(Column("state", "Seeds", "status", "finished seeds of those the study asks for"))
        caption = say("table", shown=interval_note(results, keys))
        name = f"results-{group.replace('/', '-')}"
        tables.append(Table(name, group_label(keys[0]), caption, tuple(columns), pd.DataFrame(rows)))
    return tables


def _drawing(results: Results, dataset: str, noise: str, key: str) -> Folded:
    label, where = score_label(key), results.where(dataset, noise)
    name = "-".join(["noise", dataset, noise, *ScoreKey.parse(key)])
    alt = f"{label} against the label-noise rate{where}."
    figure, data, added = against_noise_or_best(results, dataset, noise, key)
    caption = say("figure", score=label, where=where, means=means(results, [key])) + added
    drawing = Drawing(name, figure, data, alt, caption)
    return Folded(f"{label}, against noise{where}", (drawing,))


def against_noise_or_best(
    results: Results, dataset: str, noise: str, key: str
) -> tuple[Figure | None, pd.DataFrame, str]:
    """A score against the noise rate, of all methods or of the best of very many; and what the caption adds."""
    names = results.cells_of(dataset, noise)
    frame = score_frame(results, names, [key])
    if not is_many(results, names):
        return against_noise(results, frame, dataset, noise, key), frame, ""
    lines, best = points_of(results, frame), best_methods(results, names, key)
    figure = best_lines(results, {"": lines}, best, noise_axis(noise, results.own_labels), score_label(key), rates=True)
    return figure, frame, said(best, len({results.methods[name] for name in names}))


def _states(results: Results) -> dict[str, str]:
    """`2 of 3, 1 failed`: of each cell its finished seeds."""
    failed = Counter(results.failures.loc[results.failures["phase"] == "confirm", "cell"])
    done = Counter(results.confirmed["cell"])
    return {
        name: f"{done[name]} of {len(results.study.seeds) * results.study.splits}"
        + (f", {failed[name]} failed" if failed[name] else "")
        for name in results.cells
    }
