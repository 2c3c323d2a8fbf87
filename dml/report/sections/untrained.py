"""Whether training is worth it: the best methods beside the best of what needs no training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from dml.report.analysis.intervals import CORRECTED
from dml.report.analysis.selection import explained
from dml.report.analysis.untrained import by_noise, gain_of_best, kinds
from dml.report.labels import Texts, is_topline, joined, noise_label, noise_name, score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Column, Table, folded
from dml.report.results import Results
from dml.report.sections._rows import condition_columns

say = Texts(__file__)


class Untrained:
    """What nearest neighbours find without training."""

    anchor, title = "untrained", "Is training worth it?"

    def applies(self, results: Results) -> bool:
        """Trials whose input was scored too."""
        return best_and_untrained(results) is not None

    def content(self, results: Results) -> Iterator[Block | None]:
        """The best method of each condition against no training, then all scores without training."""
        yield best_and_untrained(results)
        yield folded(all_scores(results))


def best_and_untrained(results: Results) -> Table | None:
    """One row per dataset, noise model and rate: the best score without training, the best method, its gain."""
    gains = [
        gain
        for dataset, noise in results.conditions
        if not is_topline(noise)
        for rate in results.rates(dataset, noise)
        if (gain := gain_of_best(results, dataset, noise, rate, results.objective(dataset))) is not None
    ]
    rows = [
        {
            "dataset": one.dataset,
            "noise": noise_label(one.noise),
            "rate": one.rate,
            "from": one.untrained.label,
            "untrained": one.untrained.score,
            "best": results.methods[one.best].label,
            "gain": one.gain.mean,
            "gain low": one.gain.low,
            "gain high": one.gain.high,
            "covers": one.sources,
            "above": one.above,
            "others": one.cells,
        }
        for one in gains
    ]
    if not rows:
        return None
    columns = (
        *condition_columns(results),
        Column("from", "Without training"),
        Column("untrained", "Score", "percent"),
        Column("best", "Best method"),
        Column("gain", "Gain", "difference_interval", "the best method minus the score without training, in points"),
        Column("above", "Methods above", "share", "methods whose mean is above the score without training"),
    )
    by_labels = any(one.untrained.chosen for one in gains)
    chosen = say("chosen_by_labels") if by_labels else say("chosen_on_test")
    sources = " or ".join(dict.fromkeys(str(row["covers"]) for row in rows))
    why = explained(results, results.cells)
    near = "cosine" if results.study.training.normalize else "Euclidean distance"  # as trials are scored
    caption = joined(
        say("best", score=score_label(results.objective(str(rows[0]["dataset"]))), near=near),
        say("projections") if any(fitted or ", " in name for (_, name, fitted), _ in _scored(results)) else "",
        say("gain", sources=sources, corrected=f"; {CORRECTED}" if results.overlap else "", chosen=chosen, why=why),
    )
    return Table("untrained", "The best method and no training", caption, columns, pd.DataFrame(rows))


def all_scores(results: Results) -> Table | None:
    """One row per dataset and what was scored, a column per score; None if the first table has them all."""
    rows = [
        {"dataset": dataset, "from": name, "fitted": fitted} | {key: 100 * score for key, score in scores.items()}
        for (dataset, name, fitted), scores in _scored(results)
    ]
    keys = [key for key in results.score_keys if any(key in row for row in rows)]
    if len(rows) * len(keys) < 2:
        return None
    fitted = any(row["fitted"] for row in rows)
    columns = (
        Column("dataset", "Dataset", "name"),
        Column("from", "Without training", "name"),
        *([Column("fitted", "Fitted to labels with", "name")] if fitted else []),
        *(Column(key, score_label(key), "percent") for key in keys),
    )
    caption = joined(say("all"), say("projections") if fitted else "")
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("all-untrained", "All scores without training", caption, columns, frame)


def _scored(results: Results) -> list[tuple[tuple[str, str, str], Mapping[str, float]]]:
    """(dataset, what was scored, the labels it is fitted to) and its scores: what needs no labels comes first."""
    datasets = [dataset.label for dataset in results.study.datasets]
    scores = [((data, name, ""), values) for data in datasets for name, values in kinds(results, data).items()]
    projections = [one for data in datasets for one in by_noise(results, data)]
    return scores + [((one["dataset"], one["name"], _labels(results, one)), one["scores"]) for one in projections]


def _labels(results: Results, record: Mapping[str, Any]) -> str:
    """`20% uniform noise`."""
    if results.user_labels:
        return results.level(record["noise"], record["rate"])
    return f"{written(record['rate'])} {noise_name(record['noise'])}" if record["rate"] else "no noise"
