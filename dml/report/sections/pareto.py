"""Good with correct labels, or robust: the methods that no other beats in both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dml.counting import counted
from dml.report.analysis.factorial import Crossed, crossed
from dml.report.analysis.interval_coverage import over
from dml.report.analysis.pareto_front import Kept, kept
from dml.report.figures.pooled import front_points
from dml.report.labels import score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing, folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._factorial import of_each
from dml.report.sections._rows import block_column
from dml.report.texts import Texts

say = Texts(__file__)


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
        points = _frame(results, kept(results, block.dataset, block.noise, rate))
        if len(points):
            yield _drawing(results, block.dataset, block.noise, rate, points) if place == 0 else None
            yield folded(_table(results, f"{block.dataset}-{block.noise}-{rate:g}", rate, points))


def _rates(rates: tuple[float, ...]) -> list[float]:
    return [rate for rate in rates if rate > 0] if 0 in rates else []


def _drawing(results: Results, dataset: str, noise: str, rate: float, points: pd.DataFrame) -> Drawing:
    key, number = score_label(results.objective(dataset)), int(points["number"].count())
    caption = say(
        "figure",
        methods=counted(len(points), "method"),
        where=results.where(dataset, noise),
        score=key,
        rate=written(rate),
        block=results.study.block,
        front=counted(number, "method"),
        over=over(results),
    )
    name = f"pareto-{dataset}-{noise}-{rate:g}"
    return Drawing(name, front_points(points, rate, key), points, say("alt"), caption)


def _table(results: Results, name: str, rate: float, points: pd.DataFrame) -> Table:
    columns = (
        Column("number", "No.", "count"),
        Column("method", "Method", "name"),
        Column("clean", "Clean", "number_interval", "the score with correct labels, in percent"),
        Column("share", f"Kept at {written(rate)}", "number_interval", "in percent of the clean score"),
        block_column(results),
    )
    caption = say("table", rate=written(rate))
    front = points.dropna(subset="number")
    return Table(f"pareto-{name}", f"The front at {written(rate)} noise", caption, columns, front)


def _frame(results: Results, points: list[Kept]) -> pd.DataFrame:
    """One row per method; those of the front first and numbered, from the highest clean score on."""
    rows = list[dict[str, Any]]()
    for each in sorted(points, key=lambda each: (not each.on_front, -each.score.mean)):
        row: dict[str, Any] = {"number": len(rows) + 1 if each.on_front else None}
        row |= {"method": results.methods[each.noisy].label, "seeds": each.share.n}
        for name, s in (("clean", each.score), ("share", each.share)):
            row |= {name: s.mean, f"{name} low": s.low, f"{name} high": s.high}
        rows.append(row | {"cell": each.noisy})
    return pd.DataFrame(rows)
