"""Good with correct labels, or robust: the methods that no other beats in both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dml.counting import counted
from dml.report.analysis.covered import over
from dml.report.analysis.crossed import Crossed, crossed
from dml.report.analysis.front import Kept, kept
from dml.report.figures.pooled import front_points
from dml.report.labels import score_label
from dml.report.page.blocks import Block, Drawing, folded
from dml.report.page.numbers import rate as written
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._crossed import of_each
from dml.report.sections._rows import block_column


class Pareto:
    """The Pareto front of the clean score and the share of it kept under noise."""

    anchor, title = "pareto", "Good and robust"

    def applies(self, results: Results) -> bool:
        """The axes are crossed, and there is noise beside correct labels."""
        return not results.confirmed.empty and any(_rates(block.rates) for block in crossed(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure and a table for each dataset, noise model and rate; of many, all but the first are folded."""
        yield from of_each(results, self.title, _blocks)


def _blocks(results: Results, block: Crossed) -> Iterator[Block | None]:
    for place, rate in enumerate(reversed(_rates(block.rates))):
        points = kept(results, block.dataset, block.noise, rate)
        if points:
            yield _drawing(results, block.dataset, block.noise, rate, points) if place == 0 else None
            yield folded(_table(results, f"{block.dataset}-{block.noise}-{100 * rate:.0f}", rate, points))


def _rates(rates: tuple[float, ...]) -> list[float]:
    return [rate for rate in rates if rate > 0] if 0 in rates else []


def _drawing(results: Results, dataset: str, noise: str, rate: float, points: list[Kept]) -> Drawing:
    key = score_label(results.objective(dataset))
    number = sum(each.on_front for each in points)
    caption = (
        f"{counted(len(points), 'method')}{results.where(dataset, noise)}: {key} with correct labels, and the share of "
        f"it that is left at {written(rate)} noise, paired by {results.study.block}. The "
        f"{counted(number, 'method')} of the front, which no other method beats in both, have the table's numbers "
        f"where there is room, with 95% intervals over {over(results)}. Among many methods, some are on the front "
        "by luck; the effects above are safer."
    )
    alt = "Clean score against the share kept under noise, by method."
    name = f"pareto-{dataset}-{noise}-{100 * rate:.0f}"
    return Drawing(name, front_points(points, rate, key), alt, caption)


def _table(results: Results, name: str, rate: float, points: list[Kept]) -> Table:
    chosen = sorted((each for each in points if each.on_front), key=lambda each: -each.score.mean)
    rows = [_row(results, place + 1, each) for place, each in enumerate(chosen)]
    columns = (
        Column("number", "No.", "count"),
        Column("method", "Method", "name"),
        Column("clean", "Clean", "number_interval", "the score with correct labels, in percent"),
        Column("share", f"Kept at {written(rate)}", "number_interval", "in percent of the clean score"),
        block_column(results),
    )
    caption = f"The front at {written(rate)} noise, from the highest clean score to the highest share kept."
    return Table(f"pareto-{name}", f"The front at {written(rate)} noise", caption, columns, pd.DataFrame(rows))


def _row(results: Results, number: int, each: Kept) -> dict[str, Any]:
    row: dict[str, Any] = {"number": number, "method": results.methods[each.noisy].label, "seeds": each.share.n}
    for name, s in (("clean", each.score), ("share", each.share)):
        row |= {name: s.mean, f"{name} low": s.low, f"{name} high": s.high}
    return row | {"cell": each.noisy}
