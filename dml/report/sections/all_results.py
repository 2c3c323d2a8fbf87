"""All scores: a table per evaluated set and level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from dml.report.analysis.intervals import summary_at
from dml.report.labels import Texts, metric_label, metric_of, score_label
from dml.report.page.blocks import Block, Column, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, interval_note
from dml.types import ScoreKey

say = Texts(__file__)


class AllResults:
    """Every cell and every score."""

    anchor, title = "results", "All results"

    def applies(self, results: Results) -> bool:
        return bool(results.score_keys)

    def content(self, results: Results) -> Iterator[Block | None]:
        yield from main_results(results)


def main_results(results: Results) -> list[Table]:
    """One table per set and level: a row per cell, a column per metric."""
    groups: dict[str, list[str]] = {}
    for key in results.score_keys:
        groups.setdefault(ScoreKey.parse(key).group, []).append(key)
    failed = Counter(results.failures.loc[results.failures["phase"] == "confirm", "cell"])
    done, expected = Counter(results.confirmed["cell"]), len(results.study.seeds) * results.study.splits
    tables = []
    for group, keys in groups.items():
        rows = []
        for name in results.cells:
            row = identity(results, name)
            for key in keys:
                row |= summary_at(results, name, key, metric_of(key))
            state = f"{done[name]} of {expected}" + (f", {failed[name]} failed" if failed[name] else "")
            rows.append(row | {"state": state, "cell": name})
        scores = [Column(metric_of(key), metric_label(metric_of(key)), "score") for key in keys]
        columns = [*identity_columns(results), *scores]
        if results.missing():
            columns.append(Column("state", "Seeds", "status", "finished seeds of those the study asks for"))
        caption = say("table", shown=interval_note(results, keys))
        name, title = f"results-{group.replace('/', '-')}", score_label(keys[0]).partition(", ")[2]
        tables.append(Table(name, title[:1].upper() + title[1:], caption, tuple(columns), pd.DataFrame(rows)))
    return tables
