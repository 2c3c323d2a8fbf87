"""Which differences would other images confirm: methods compared over queries."""

from __future__ import annotations

from collections.abc import Iterator

from dml.report.analysis.over_queries import best_against_others
from dml.report.labels import readable, score_label
from dml.report.page.blocks import Block
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns, difference_columns
from dml.report.texts import Texts

say = Texts(__file__)


class Queries:
    """The best method against each other one, over queries."""

    anchor, title = "queries", "Compared over queries"

    def applies(self, results: Results) -> bool:
        """The study keeps each query's scores."""
        return results.study.evaluation.keep_per_query and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """A table."""
        yield table(results)


def table(results: Results) -> Table | None:
    """One row per dataset, noise model, rate and method other than the best."""
    frame = best_against_others(results)
    if frame.empty:
        return None
    frame = frame.assign(
        noise=frame["noise"].map(readable),
        winner=[results.methods[name].label for name in frame["winner"]],
        other=[results.methods[name].label for name in frame["other"]],
    )
    *shared, seeds = difference_columns(results, Column("p adjusted", "p (adjusted)", "p", say("p")))
    columns = (
        *condition_columns(results),
        Column("winner", "Best"),
        Column("other", "Compared with"),
        *shared,
        Column("queries", "Queries", "count"),
        seeds,
    )
    key = score_label(results.objective(results.study.datasets[0].label))
    caption = say("table", score=key)
    return Table("queries", "The best method against every other, over queries", caption, columns, frame)
