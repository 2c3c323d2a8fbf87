"""What to use in which situation, over all crossed studies, as one table: for `docs/results.md` and the index."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dml.report.analysis.crossed import crossed
from dml.report.analysis.held_out import HeldOut, held_out
from dml.report.labels import metric_label, metric_of
from dml.report.noises import noise_name
from dml.report.page.numbers import NOTHING, interval, percent, rate
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.statistics import Summary

CAPTION = (
    "The best method (loss, positives + negatives) at each noise rate of the crossed studies, in percent of the "
    "test images. Each seed is left out in turn: the others choose the method (in brackets: how often this one), "
    "and it gives the score and the gain. Intervals are over seeds; other classes and images may rank the methods "
    "otherwise. Trained: a head on frozen features, or a whole network. Usual choice: triplet loss, random "
    "positives, random semi-hard negatives. Without training: nearest neighbours of pixels or frozen features, at "
    "full length, which embeddings shorten. Spread: the best of all methods minus the worst."
)


def what_to_use(studies: Sequence[Results]) -> Table | None:
    """One row per study, dataset, noise model and rate, by dataset; None with fewer than two rows."""
    found = [
        (results, one)
        for results in studies
        for block in crossed(results)
        for noise_rate in results.rates(block.dataset, block.noise)
        if (one := held_out(results, block.dataset, block.noise, noise_rate)) is not None
    ]
    if len(found) < 2:
        return None
    rows = [_row(results, one) for results, one in sorted(found, key=lambda pair: pair[1].dataset)]
    columns = (
        Column("study", "Study", "name"),
        Column("trained", "Trained"),
        Column("noise", "Noise"),
        Column("use", "Use"),
        Column("score", "Score"),
        Column("gain", "Over the usual choice"),
        Column("untrained", "Without training"),
        Column("spread", "Spread"),
    )
    return Table(
        "use", "What to use", " ".join((*_lead([one for _, one in found]), CAPTION)), columns, pd.DataFrame(rows)
    )


def in_short(studies: Sequence[Results]) -> list[str]:
    """The table of `what_to_use` as lines of Markdown; none if there is none."""
    table = what_to_use(studies)
    if table is None:
        return []
    labels = [column.label.lower() for column in table.columns]
    rows = [
        f"| `{row['study']}` | {' | '.join(row[column.key] for column in table.columns[1:])} |"
        for row in table.frame.to_dict("records")
    ]
    return [table.caption, "", f"| {' | '.join(labels)} |", "|---" * len(labels) + "|", *rows, ""]


def _lead(found: Sequence[HeldOut]) -> list[str]:
    """How often no training is better, which comes before any choice; nothing where nothing was scored without it."""
    known = [(one.untrained, one.score.mean) for one in found if one.untrained is not None]
    higher = sum(untrained > score for untrained, score in known)
    return (
        [f"Score your data without training first: that is higher in {higher} of {len(known)} rows."] if known else []
    )


def _row(results: Results, one: HeldOut) -> dict[str, str]:
    name = noise_name(one.noise)
    return {
        "study": one.study if len(results.study.datasets) == 1 else f"{one.study}, {one.dataset}",
        "trained": "head" if one.head else "network",
        "noise": f"{rate(one.rate)} {name}" if one.rate else "none",
        "use": f"{results.methods[one.chosen].label} ({one.times} of {one.score.n})",
        "score": f"{metric_label(metric_of(one.key))} {percent(one.score.mean)}",
        "gain": NOTHING if one.gain is None else points(one.gain),
        "untrained": NOTHING if one.untrained is None else percent(one.untrained),
        "spread": f"{percent(one.spread)} of {one.cells} methods",
    }


def points(s: Summary) -> str:
    """A difference in points with its interval: `+2.1 [+1.0, +3.2]`."""
    return interval(*(percent(value, signed=True) for value in (s.mean, s.low, s.high)))
