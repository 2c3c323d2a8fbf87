"""Columns that several tables share: which cell a row is about, and paired comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from dml.config.data import makes_noise
from dml.counting import counted
from dml.report.analysis.intervals import block_plural, coverage, summary_at
from dml.report.labels import Texts, noise_label, readable, score_label, value_label
from dml.report.methods import further, setting_labels
from dml.report.page.blocks import Column
from dml.report.results import Results

say = Texts(__file__)

LABELS = {"dataset": "Dataset", "noise": "Noise", "loss": "Loss", "positives": "Positives", "negatives": "Negatives"}


def identity(results: Results, name: str) -> dict[str, Any]:
    """A cell's values in the columns of `identity_columns`."""
    cell, method = results.cells[name], results.methods[name]
    return {
        "dataset": cell.dataset,
        "noise": noise_label(cell.noise),
        "rate": cell.rate,
        "loss": readable(method.loss),
        "positives": readable(method.positives),
        "negatives": readable(method.negatives),
        **{key: value_label(further(cell).get(key, "")) for key in results.varied},
    }


def identity_columns(results: Results) -> tuple[Column, ...]:
    """The columns that say which cell a row is about, without those that are the same in every cell."""
    rows = [identity(results, name) for name in results.cells]
    several = {key for key in (rows[0] if rows else ()) if len({row[key] for row in rows}) > 1}
    labels = LABELS | {key: label.capitalize() for key, label in setting_labels(results.varied).items()}
    columns = [Column(key, label, "name") for key, label in labels.items() if key in several]
    if "rate" in several:
        columns.insert(sum(column.key in ("dataset", "noise") for column in columns), rate_column(results))
    return tuple(columns) or (Column("loss", "Loss", "name"),)


def condition_columns(results: Results) -> tuple[Column, ...]:
    """Only the columns for the dataset, the noise model and the noise rate."""
    return tuple(column for column in identity_columns(results) if column.key in ("dataset", "noise", "rate"))


def rate_column(results: Results) -> Column:
    """The noise rate, or what a user's own labels are at it."""
    if results.user_labels and all(makes_noise(cell.noise) for cell in results.cells.values()):
        return Column("rate", "Labels", "made wrong", say("made_wrong"))
    return Column("rate", "Noise rate", "rate", say("rate"))


def block_column(results: Results) -> Column:
    """How many seeds, or class splits, a row has."""
    return Column("seeds", block_plural(results).capitalize(), "count")


def interval_note(results: Results, keys: Iterable[str] = ()) -> str:
    """What a score column shows, for captions."""
    if len(results.study.blocks) < 2:
        return "one seed, so without a standard deviation and an interval"
    blocks = counted(len(results.study.blocks), results.study.block)
    return say("several", blocks=blocks, sources=coverage(results, keys) or block_plural(results))


def means(results: Results, keys: Iterable[str], where: str = "") -> str:
    """What a figure of these scores draws and what its intervals cover, or why it draws none; without a full stop."""
    if len(results.study.blocks) < 2:
        return f"Mean over seeds{where}; one seed, so no intervals are drawn"
    return f"Mean over {block_plural(results)}{where}; 95% confidence intervals cover {coverage(results, keys)}"


def score_frame(results: Results, names: Iterable[str], keys: Iterable[str]) -> pd.DataFrame:
    """The data behind a figure of scores: one row per cell and score, in percent."""
    rows = []
    for name in names:
        for key in keys:
            summary = summary_at(results, name, key, "score")
            if summary["score n"]:
                rows.append(identity(results, name) | {"metric": score_label(key)} | summary | {"cell": name})
    return pd.DataFrame(rows)
