"""Whether a head is worth training: the best ones beside the frozen features that they start from."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.report.analysis.alone import AgainstAlone, against_alone, kinds
from dml.report.labels import score_label
from dml.report.noises import is_topline, noise_label
from dml.report.page.blocks import Block, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns


class WithoutHead:
    """The features alone."""

    anchor, title = "without-head", "Is a head worth training?"

    def applies(self, results: Results) -> bool:
        """Frozen trials, whose features were scored alone."""
        return best_heads(results) is not None

    def content(self, results: Results) -> Iterator[Block | None]:
        """The best head of each condition against the features alone, then all scores of the features."""
        yield best_heads(results)
        yield folded(all_scores(results))


def compared(results: Results) -> list[AgainstAlone]:
    """The best head at each noise rate of each condition, by the study's objective. No toplines."""
    found = [
        against_alone(results, dataset, noise, rate, results.objective(dataset))
        for dataset, noise in results.conditions
        if not is_topline(noise)
        for rate in results.rates(dataset, noise)
    ]
    return [one for one in found if one is not None]


def best_heads(results: Results) -> Table | None:
    """One row per dataset, noise model and rate: the features alone, the best head, and what it gains."""
    rows = [
        {
            "dataset": one.dataset,
            "noise": noise_label(one.noise),
            "rate": one.rate,
            "alone": one.alone,
            "best": results.methods[one.best].label,
            "gain": one.gain.mean,
            "gain low": one.gain.low,
            "gain high": one.gain.high,
            "above": one.above,
            "others": one.cells,
        }
        for one in compared(results)
    ]
    if not rows:
        return None
    key = results.objective(str(rows[0]["dataset"]))
    columns = (
        *condition_columns(results),
        Column("alone", "Features alone", "percent"),
        Column("best", "Best head"),
        Column("gain", "Gain", "difference_interval", "the best head minus the features alone, in points"),
        Column("above", "Heads above", "share", "heads whose mean score is above that of the features"),
    )
    caption = (
        f"{score_label(key)}, in percent. Features alone: what the frozen network gives, without a head and without "
        "training on these labels. Gain: the best head minus that, in points, with its 95% interval over seeds; the "
        "best head is chosen by the same scores, so its gain is slightly optimistic."
    )
    return Table("without-head", "The best head and the features alone", caption, columns, pd.DataFrame(rows))


def all_scores(results: Results) -> Table | None:
    """One row per dataset and kind of features, a column per score."""
    found = [
        (data.label, name, own) for data in results.study.datasets for name, own in kinds(results, data.label).items()
    ]
    keys = [key for key in results.score_keys if any(key in own for _, _, own in found)]
    rows = [
        {"dataset": dataset, "features": name, **{key: 100 * own[key] if key in own else None for key in keys}}
        for dataset, name, own in found
    ]
    if not rows or len(keys) < 2:
        return None
    columns = (
        Column("dataset", "Dataset", "name"),
        Column("features", "Features", "name"),
        *(Column(key, score_label(key), "percent") for key in keys),
    )
    return Table("features-alone", "All scores of the features alone", "In percent.", columns, pd.DataFrame(rows))
