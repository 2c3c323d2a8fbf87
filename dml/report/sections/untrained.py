"""Whether training is worth it: the best methods beside the pixels or frozen features that they start from."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.report.analysis.untrained import gain_of_best, kinds, named
from dml.report.labels import score_label
from dml.report.noises import is_topline, noise_label
from dml.report.page.blocks import Block, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns


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
    """One row per dataset, noise model and rate: the score without training, the best method, and what it gains."""
    found = [
        gain_of_best(results, dataset, noise, rate, results.objective(dataset))
        for dataset, noise in results.conditions
        if not is_topline(noise)
        for rate in results.rates(dataset, noise)
    ]
    rows = [
        {
            "dataset": one.dataset,
            "noise": noise_label(one.noise),
            "rate": one.rate,
            "from": named(results, one.dataset, results.objective(one.dataset)).removeprefix("the "),
            "untrained": one.untrained,
            "shortened": one.shortened,
            "best": results.methods[one.best].label,
            "gain": one.gain.mean,
            "gain low": one.gain.low,
            "gain high": one.gain.high,
            "above": one.above,
            "others": one.cells,
        }
        for one in found
        if one is not None
    ]
    if not rows:
        return None
    short = any(row["shortened"] is not None for row in rows)
    columns = (
        *condition_columns(results),
        Column("from", "Without training"),
        Column("untrained", "Score", "percent"),
        *([Column("shortened", "Shortened", "percent", "to as many numbers as embeddings have")] if short else []),
        Column("best", "Best method"),
        Column("gain", "Gain", "difference_interval", "the best method minus the score without training, in points"),
        Column("above", "Methods above", "share", "methods whose mean is above the score without training"),
    )
    near = "cosine" if results.study.training.normalize else "Euclidean distance"  # as trials are scored
    caption = (
        f"{score_label(results.objective(str(rows[0]['dataset'])))}, in percent. Without training: nearest neighbours "
        f"of what the trials start from, by {near}: the features of a frozen network without a head, or pixels (at "
        "most 32 a side, less the mean image). Gain: the best method minus that, in points, with its 95% interval over "
        "seeds. The best method is chosen by the same scores, so its gain is slightly optimistic."
    )
    if short:
        caption += (
            " Shortened: the same by principal components of the training images' features, as many as embeddings have "
            "dimensions."
        )
    return Table("untrained", "The best method and no training", caption, columns, pd.DataFrame(rows))


def all_scores(results: Results) -> Table | None:
    """One row per dataset and what was scored, a column per score."""
    datasets = [dataset.label for dataset in results.study.datasets]
    found = [(dataset, name, own) for dataset in datasets for name, own in kinds(results, dataset).items()]
    keys = [key for key in results.score_keys if any(key in own for _, _, own in found)]
    rows = [
        {"dataset": dataset, "from": name, **{key: 100 * own[key] if key in own else None for key in keys}}
        for dataset, name, own in found
    ]
    if not rows or len(keys) < 2:
        return None
    columns = (
        Column("dataset", "Dataset", "name"),
        Column("from", "Without training", "name"),
        *(Column(key, score_label(key), "percent") for key in keys),
    )
    return Table("all-untrained", "All scores without training", "In percent.", columns, pd.DataFrame(rows))
