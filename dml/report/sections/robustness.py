"""What noise costs: each score as a share of its reference, and the rate at which a tenth is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dml.report.analysis.shares import break_point, compared_scores, has_topline, kept, reference
from dml.report.analysis.skew import skew_of
from dml.report.analysis.summaries import SCORE, SHARE, summary_of
from dml.report.figures.best import best_methods, is_many, only_best
from dml.report.figures.noise_and_topline import KEPT, NOISY, TOPLINE, noise_and_topline
from dml.report.labels import is_topline, metric_label, metric_of, noise_axis, score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, means
from dml.report.texts import Texts, joined

say = Texts(__file__)


class Robustness:
    """Shares of the reference by noise rate."""

    anchor, title = "robustness", "What noise costs"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial with label noise."""
        return bool(_rates(results)) and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """For the objective and the first score of a clustering: a figure for each noise model, and a table."""
        for place in range(2):
            for dataset, noise in results.conditions:
                keys = compared_scores(results, dataset)
                if place < len(keys) and not is_topline(noise) and has_topline(results, dataset):
                    yield _drawing(results, dataset, noise, keys[place], first=place == 0)
            yield table(results, place)


def table(results: Results, place: int = 0) -> Table | None:
    """One row per dataset, noise model and method: its share at each rate, and its break point.

    Parameters
    ----------
    place : 0 for the objective, 1 for the first score of a clustering.
    """
    keys = {dataset.label: compared_scores(results, dataset.label)[place:] for dataset in results.study.datasets}
    methods: dict[tuple[Any, ...], dict[float, str]] = {}
    for name, cell in results.cells.items():
        if not is_topline(cell.noise) and keys[cell.dataset]:
            methods.setdefault((cell.dataset, cell.noise, results.methods[name]), {})[cell.rate] = name
    rates, rows = _rates(results), []
    for (dataset, _, _), cells in methods.items():
        row = identity(results, next(iter(cells.values())))
        shares = {rate: kept(results, cells[rate], keys[dataset][0]) for rate in rates if rate in cells}
        for rate in rates:
            row |= summary_of(shares.get(rate, ()), f"{rate:g}", SHARE, overlap=results.overlap)
        known = {rate: float(values.mean()) for rate, values in shares.items() if len(values)}
        row["break point"] = break_point(list(known), list(known.values())) if known else np.nan
        row |= {key: value for key, value in skew_of(results, cells[min(cells)]).items() if key.startswith("bound")}
        rows.append(row | {"reach": max(known, default=np.nan)})
    frame = pd.DataFrame(rows)
    if not rates or frame.empty or frame["break point"].isna().all():
        return None
    several = frame["noise"].nunique() > 1
    columns = [column for column in identity_columns(results, rate=False) if several or column.key != "noise"]
    columns += [Column(f"{rate:g}", f"At {written(rate)}", "score") for rate in rates]
    columns.append(
        Column("break point", "Break point", "break", "the noise rate at which a tenth of the score is lost")
    )
    if frame["bound"].notna().any():
        columns.append(Column("bound", "Bound", "rate_interval", say("bound_heading")))
    key = next(iter(keys.values()))[0]
    reference = "its topline, trained on the correctly labelled samples only" if has_topline(results) else "rate 0"
    bound = say("bound") if "bound" in [column.key for column in columns] else ""
    caption = joined(say("table", score=score_label(key), reference=reference, block=results.study.block), bound)
    name, title = "robustness", "What noise costs"
    if place:
        name, title = f"{name}-{place}", f"{title}: {metric_label(metric_of(key))}"
    return Table(name, title, caption, tuple(columns), frame)


def _drawing(results: Results, dataset: str, noise: str, key: str, first: bool) -> Drawing:
    names = results.cells_of(dataset, noise)
    best = best_methods(results, names, key) if is_many(results, names) else []
    frame = _frame(results, [name for name in names if not best or results.methods[name] in best], key)
    figure = noise_and_topline(results, frame, key, noise_axis(noise, results.own_labels))
    caption = say("figure", score=score_label(key), where=results.where(dataset, noise), means=means(results, [key]))
    if best:
        caption += only_best(len(best))
    alt = say("alt", score=score_label(key))
    name = f"topline-{dataset}-{noise}" + ("" if first else f"-{metric_of(key)}")
    return Drawing(name, figure, frame, alt, caption)


def _frame(results: Results, names: Sequence[str], key: str) -> pd.DataFrame:
    """One row per cell and series of `noise_and_topline` with a value. At rate 0 a cell is its own topline."""
    rows: list[dict[str, Any]] = []
    for name in names:
        clean, scores = reference(results, name) if results.cells[name].rate else name, results.values(name, key)
        counts = clean is not None and (clean == name or is_topline(results.cells[clean].noise))
        topline = results.values(clean, key) if clean and counts else ()
        found = ((NOISY, scores, SCORE), (TOPLINE, topline, SCORE), (KEPT, kept(results, name, key), SHARE))
        for series, values, bounds in found:
            s = summary_of(values, "score", bounds, overlap=results.overlap)
            rows += [identity(results, name) | {"series": series} | s | {"cell": name}] if s["score n"] else []
    return pd.DataFrame(rows)


def _rates(results: Results) -> list[float]:
    return sorted({c.rate for c in results.cells.values() if c.rate > 0 and not is_topline(c.noise)})
