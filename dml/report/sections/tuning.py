"""What tuning decides: leads that only exist without it, and the settings that a method's score depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dml.report.analysis.tuning_trials import expected_best, importances, trials_of, validation_scores
from dml.report.figures.best import best_series
from dml.report.labels import metric_label, noise_label, readable, score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns, series_frame
from dml.report.texts import Texts, joined

say = Texts(__file__)

LEAST = 2  # tuning trials of a cell
NAMED = 4  # settings that a score depends on, at most


class Tuning:
    """The expected best after k tuning trials."""

    anchor, title = "tuning", "What tuning decides"

    def applies(self, results: Results) -> bool:
        """Two cells with at least two tuning trials each, none of which early stopping selected."""
        if results.study.search.early_stopping != "none":
            return False
        return sum(len(validation_scores(results, name)) >= LEAST for name in results.cells) > 1

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and noise model, who leads after how many trials, and importances."""
        for dataset, noise in results.conditions:
            yield _drawing(results, dataset, noise)
        yield leaders(results)
        yield dependence(results)


def leaders(results: Results) -> Table | None:
    """One row per condition: who leads after one trial and after all, and whether the first lead needs no tuning."""
    rows: list[dict[str, Any]] = []
    for dataset, noise in results.conditions:
        for rate in results.rates(dataset, noise):
            curves = {name: expected_best(results, name) for name in results.rivals(dataset, noise, rate)}
            curves = {name: own for name, own in curves.items() if len(own) >= LEAST}
            if len(curves) < 2:
                continue
            last = min(len(own) for own in curves.values())
            first, final = (max(curves, key=lambda name, k=k: curves[name][k]) for k in (1, last))  # type: ignore[misc]
            names = {"first": results.methods[first].label, "final": results.methods[final].label}
            leads = {
                f"lead {when}": curves[first][k] - max(own[k] for name, own in curves.items() if name != first)
                for when, k in (("at 1", 1), ("at last", last))
            }
            lasts = "yes" if first == final else "no: it leads only without tuning"
            row = {"dataset": dataset, "noise": noise_label(noise), "rate": rate} | names
            rows.append(row | leads | {"lasts": lasts, "trials": last})
    if not rows:
        return None
    columns = (
        *condition_columns(results),
        Column("first", "Leads after 1 trial"),
        Column("lead at 1", "By", "difference", "before the next one, in points, after 1 trial"),
        Column("final", "Leads after all"),
        Column("trials", "Trials", "count", "of each method"),
        Column("lead at last", "First's lead after all", "difference", "of the one that led after 1 trial, in points"),
        Column("lasts", "Does the first lead last?"),
    )
    caption = joined(say("leaders", metric=metric_label(results.study.search.objective)), say("how"))
    return Table("leaders", "Who leads after how many trials", caption, columns, pd.DataFrame(rows))


def dependence(results: Results) -> Table | None:
    """One row per loss: how far its score depends on its settings, and on which."""
    cells: dict[str, list[str]] = {}
    for name in results.cells:
        if len(validation_scores(results, name)) >= LEAST:
            cells.setdefault(readable(results.cells[name].loss.name), []).append(name)
    rows = []
    for loss, names in cells.items():
        settings, scores = trials_of(results, names)
        largest = list(importances(settings, scores).items())[:NAMED]
        which = ", ".join(f"{readable(key.split('.', 1)[-1])} {written(share)}" for key, share in largest)
        tried = [validation_scores(results, name) for name in names]
        gain = float(np.mean([own.max() - np.median(own) for own in tried]))
        rows.append({"loss": loss, "gain": gain, "trials": len(scores), "which": which or "too few trials to say"})
    if not rows:
        return None
    columns = (
        Column("loss", "Loss", "name"),
        Column("gain", "Best over median", "difference", "the best tuning trial minus the median one, mean over cells"),
        Column("which", "Depends on"),
        Column("trials", "Trials", "count", "tuning trials of all its cells"),
    )
    return Table("dependence", "Dependence on settings", say("dependence"), columns, pd.DataFrame(rows))


def _drawing(results: Results, dataset: str, noise: str) -> Drawing:
    """A panel per noise rate, a line per method."""
    found = {name: expected_best(results, name) for name in results.cells_of(dataset, noise)}
    found = {name: values for name, values in found.items() if len(values) >= LEAST}
    labels = ("tuning trials", score_label(results.objective(dataset, "validation")))
    figure, added = best_series(results, found, results.objective(dataset), labels)
    metric = metric_label(results.study.search.objective)
    caption = joined(say("figure", metric=metric, where=results.where(dataset, noise)) + added, say("how"))
    data = series_frame(results, found, "trials", "expected best")
    return Drawing(f"tuning-{dataset}-{noise}", figure, data, say("alt"), caption)
