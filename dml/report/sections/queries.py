"""Which differences would other images confirm: methods compared over queries."""

from __future__ import annotations

from collections.abc import Iterator

from dml.report.analysis.over_queries import best_against_others
from dml.report.labels import readable, score_label
from dml.report.page.blocks import Block
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import condition_columns, difference_columns

P_ADJUSTED = Column(
    "p adjusted", "p (adjusted)", "p", "of the paired bootstrap over queries, adjusted for the choice of the best"
)


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
    *shared, seeds = difference_columns(results, P_ADJUSTED)
    columns = (
        *condition_columns(results),
        Column("winner", "Best"),
        Column("other", "Compared with"),
        *shared,
        Column("queries", "Queries", "count"),
        seeds,
    )
    key = score_label(results.objective(results.study.datasets[0].label))
    caption = (
        f"{key}: the best method minus the other, in points. Each query's score is the mean over the seeds that both "
        "finished; interval and p are by the paired bootstrap over queries, p adjusted for the choice of the best "
        "among all methods at that noise rate. It says whether other images of these classes would confirm the "
        "difference between these trained networks, not whether other seeds or other classes would. The best is chosen "
        "by the same scores, so its lead is slightly optimistic."
    )
    return Table("queries", "The best method against every other, over queries", caption, columns, frame)
