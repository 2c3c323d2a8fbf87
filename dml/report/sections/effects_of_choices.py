"""What each choice (loss, positives, negatives, what varies) is worth, pooled over all else, with seeds as blocks.

For each seed, the effect of a level is the mean over all cells with it minus the mean over all cells, where every level
meets all levels of the other axes. Seeds that are good or bad for all cells cancel out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dml import statistics
from dml.counting import counted
from dml.report.analysis.intervals import CORRECTED, block_plural
from dml.report.labels import Texts, is_topline, joined, readable, score_label
from dml.report.page.blocks import Block, Column, Folded, Table
from dml.report.results import Results, once
from dml.report.sections._rows import block_column, rate_column
from dml.types import value_text

say = Texts(__file__)

CHOICES = ("loss", "positives", "negatives")


class EffectsOfChoices:
    """Effects with intervals at each noise rate."""

    anchor, title = "effects", "What each choice is worth"

    def applies(self, results: Results) -> bool:
        """At least two of loss, positives and negatives are crossed."""
        return not results.confirmed.empty and bool(tables(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """Those tables that say nothing are folded."""
        silent = [table for table in tables(results) if says_nothing(table.frame)]
        yield from (table for table in tables(results) if not says_nothing(table.frame))
        if silent:
            blocks = counted(len(results.study.blocks), results.study.block)
            yield Folded(say("silent", blocks=blocks), tuple(silent))


def says_nothing(frame: pd.DataFrame) -> bool:
    """Whether most intervals reach further to a side than all effects differ, or there are none."""
    reach = ((frame["effect high"] - frame["effect low"]) / 2).median()
    return not reach <= frame["effect"].max() - frame["effect"].min()


@once
def tables(results: Results) -> list[Table]:
    """Those of a study in which at least two of `CHOICES` are crossed; without toplines."""
    pairs = [pair for pair in results.conditions if not is_topline(pair[1])]
    return [made for pair in pairs if (made := _table(results, *pair)) is not None]


def _table(results: Results, dataset: str, noise: str) -> Table | None:
    scores, left_out = crossed(results, dataset, noise)
    if sum(len(scores.index.unique(axis)) > 1 for axis in CHOICES if axis in scores.index.names) < 2:
        return None
    columns = (
        *(Column("axis", "Choice of", "name"), Column("level", "Choice", "name")),
        *(rate_column(results), Column("effect", "Effect", "difference_interval", "in points")),
        Column("holm", "p (Holm)", "p", say("holm", blocks=block_plural(results))),
        block_column(results),
    )
    text = say(
        "effects",
        score=score_label(results.objective(dataset)),
        blocks=counted(scores.shape[1], results.study.block),
        block=results.study.block,
        corrected=f"; {CORRECTED}" * bool(results.overlap),
        where=results.where(dataset, noise),
    )
    losses = say("left_out", losses=", ".join(map(readable, left_out))) if left_out else ""
    frame = effects(scores, results.overlap)
    frame = frame.assign(axis=frame["axis"].map(readable), level=frame["level"].map(readable))
    return Table(f"effects-{dataset}-{noise}", "Effects of choices", joined(text, losses), columns, frame)


def crossed(results: Results, dataset: str, noise: str) -> tuple[pd.DataFrame, Sequence[str]]:
    """Scores in percent: a row per level of each axis and rate, a column per seed; and losses that are left out.

    Of losses those that meet most choices of the others; empty if these do not all meet.
    """
    axes: list[str] = [*CHOICES, *results.varied]
    values: dict[tuple[Any, ...], pd.Series] = {}
    for name in results.cells_of(dataset, noise):
        cell, method = results.cells[name], results.methods[name]
        scores = results.values(name, results.objective(dataset))
        if method.positives and len(scores):
            varied = (value_text(cell.grid_point.get(setting, "")) for setting in results.varied)
            values[(method.loss, method.positives, method.negatives, *varied, cell.rate)] = scores
    met = {loss: {point[1:] for point in values if point[0] == loss} for loss, *_ in values}
    most = max(met.values(), key=len, default=set())
    kept = {point: scores for point, scores in values.items() if met[point[0]] == most}
    if not kept or len(kept) < np.prod([len({point[i] for point in kept}) for i in range(len(axes) + 1)]):
        return pd.DataFrame(), []
    table = pd.DataFrame(kept).T.dropna(axis=1)
    return table.rename_axis([*axes, "rate"]), [loss for loss in met if met[loss] != most]


def effects(scores: pd.DataFrame, overlap: float = 0.0) -> pd.DataFrame:
    """The effect of each level of each axis at each rate, in points, with its interval, p, and Holm's over all of them.

    The two levels of an axis have opposite effects: these are one hypothesis.
    """
    rows: list[dict[str, Any]] = []
    questions: list[tuple[str, float, str]] = []
    for axis in (name for name in scores.index.names[:-1] if len(scores.index.unique(name)) > 1):
        for rate, at_rate in scores.groupby(level="rate"):
            means = at_rate.groupby(level=axis, sort=False).mean()
            for level, values in (means - means.mean()).iterrows():
                s, p = statistics.summary(values, overlap=overlap), statistics.paired_t(values, overlap)
                row = {"axis": axis, "level": level, "rate": rate, "effect": s.mean, "effect low": s.low}
                rows.append(row | {"effect high": s.high, "p": p, "seeds": s.n})
                questions.append((axis, rate, "" if len(means) == 2 else level))
    frame = pd.DataFrame(rows)
    by_question = dict(zip(questions, frame["p"].tolist(), strict=True))
    corrected = statistics.holm(list(by_question.values())) if scores.shape[1] > 1 else list(by_question.values())
    holm = dict(zip(by_question, corrected, strict=True))
    return frame.assign(holm=[holm[question] for question in questions])
