"""What noise costs: each score as a share of its reference, and the rate at which a tenth is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dml.report.analysis.shares import break_point, has_topline, kept
from dml.report.analysis.summaries import SHARE, summary_of
from dml.report.figures.against_noise import against_noise
from dml.report.labels import metric_label, metric_of, score_label
from dml.report.page.blocks import Block, Drawing
from dml.report.page.numbers import rate as written
from dml.report.page.tables import Column, Table
from dml.report.results import Results, is_topline
from dml.report.sections._rows import identity, identity_columns


class Robustness:
    """Shares of the reference by noise rate."""

    anchor, title = "robustness", "What noise costs"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial with label noise."""
        return bool(_rates(results)) and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each noise model with a topline, and a table."""
        for dataset, noise in results.conditions:
            if not is_topline(noise) and has_topline(results, dataset):
                yield _drawing(results, dataset, noise)
        yield table(results)


def table(results: Results) -> Table | None:
    """One row per dataset, noise model and method: its share at each rate, and its break point."""
    methods: dict[tuple[Any, ...], dict[float, str]] = {}
    for name, cell in results.cells.items():
        if not is_topline(cell.noise):
            methods.setdefault((cell.dataset, cell.noise, results.methods[name]), {})[cell.rate] = name
    rates = _rates(results)
    rows = []
    for (dataset, _, _), cells in methods.items():
        row = identity(results, next(iter(cells.values())))
        key = results.objective(dataset)
        shares = {rate: kept(results, cells[rate], key) for rate in rates if rate in cells}
        for rate in rates:
            row |= summary_of(shares.get(rate, ()), f"{rate:g}", SHARE)
        known = {rate: float(values.mean()) for rate, values in shares.items() if len(values)}
        row["break point"] = break_point(list(known), list(known.values())) if known else np.nan
        rows.append(row | {"reach": max(known, default=np.nan)})
    frame = pd.DataFrame(rows)
    if not rates or frame["break point"].isna().all():
        return None
    several = frame["noise"].nunique() > 1
    columns = [column for column in identity_columns(results, rate=False) if several or column.key != "noise"]
    columns += [Column(f"{rate:g}", f"At {written(rate)}", "score") for rate in rates]
    columns.append(
        Column("break point", "Break point", "break", "the noise rate at which a tenth of the score is lost")
    )
    reference = "its topline, trained on the correctly labelled samples only" if has_topline(results) else "rate 0"
    caption = (
        f"{score_label(results.objective(results.study.datasets[0].label))}, in percent of the score of {reference}, "
        "seed by seed. Break point: the noise rate at which a tenth is lost, interpolated between the rates."
    )
    return Table("robustness", "What noise costs", caption, tuple(columns), frame)


def _drawing(results: Results, dataset: str, noise: str) -> Drawing:
    key = results.objective(dataset)
    label = f"{metric_label(metric_of(key))}, share of the topline"
    figure = against_noise(results, dataset, noise, key, values=kept, label=label)
    caption = (
        f"{score_label(key)}, in percent of the topline: training on the correctly labelled samples only"
        f"{results.where(dataset, noise)}. The gap to 100% is due to wrong labels, not to fewer correct ones."
    )
    alt = f"{score_label(key)} in percent of the topline, against the label-noise rate."
    return Drawing(f"topline-{dataset}-{noise}", figure, alt, caption)


def _rates(results: Results) -> list[float]:
    return sorted({c.rate for c in results.cells.values() if c.rate > 0 and not is_topline(c.noise)})
