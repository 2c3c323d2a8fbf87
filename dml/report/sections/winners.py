"""The winner at each noise rate, its lead, and which methods are significantly worse."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.config.for_use import one_search
from dml.report import figures, labels
from dml.report.analysis.flags import marks
from dml.report.analysis.intervals import block_plural, coverage, interval_sources
from dml.report.analysis.paired import LEVEL, detectable, versus_winner
from dml.report.analysis.selection import explained
from dml.report.analysis.untrained import untrained
from dml.report.figures import PercentTicks, drawn_cells, look, short_label
from dml.report.labels import Texts, is_topline, joined, metric_label, noise_label, score_label
from dml.report.methods import after_comma
from dml.report.numbers import NOTHING, interval, percent
from dml.report.page.blocks import Block, Column, Drawing, Finding, Findings, Table, folded
from dml.report.results import Results, once
from dml.report.sections._rows import block_column, condition_columns, means, score_frame
from dml.report.sections.reference_values import reference_values_by_cell
from dml.types import VALIDATION, ScoreKey


def intervals(results: Results, frame: pd.DataFrame, cells: Sequence[str], keys: Sequence[str]) -> Figure | None:
    """The figure of cells with one dataset, noise model and rate, or None if none of them has one of the scores."""
    rows = {(row["cell"], row["metric"]): row for row in frame.to_dict("records")}
    keys = [key for key in keys if any((name, score_label(key)) in rows for name in cells)]
    if not keys:
        return None
    references = reference_values_by_cell(results)
    columns = min(3, len(keys))
    height = -(-len(keys) // columns)
    figure = Figure(figsize=(2.2 + 2.55 * columns, height * (1.0 + 0.34 * len(cells))), layout="constrained")
    grid = figures.grid_of(figure, len(keys), height, columns, sharey=True)
    for axes, key in zip(grid.flat, keys, strict=False):
        for at, name in enumerate(cells):
            if (name, score_label(key)) in rows:
                _row(axes, at, results, name, key, rows[name, score_label(key)])
            if (name, key) in references:
                value = references[name, key]
                axes.plot(value, at, "D", color=figures.PAPER, markeredgecolor=figures.INK, markersize=5.5)
        axes.set_title(metric_label(labels.metric_of(key)))
        axes.set_xlabel("\n".join(textwrap.wrap(score_label(key).split(", ", 1)[1], 28)), fontsize=7.5)
        names = [textwrap.fill(short_label(results, results.methods[name]), 44) for name in cells]
        axes.set_yticks(range(len(cells)), names)
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
    return figure


def _row(axes: Axes, at: int, results: Results, name: str, key: str, row: dict[Hashable, Any]) -> None:
    (colour, marker), values = look(results, results.methods[name]), results.values(name, key)
    axes.plot(values, [at + 0.24] * len(values), "|", color=colour, alpha=0.55, markersize=5)
    if row["score n"] > 1:
        axes.plot([row["score low"], row["score high"]], [at, at], color=colour, linewidth=2.4, solid_capstyle="butt")
    axes.plot(row["score mean"], at, marker, color=colour, markersize=6)


def against_noise(results: Results, dataset: str, noise: str, key: str) -> tuple[Figure | None, pd.DataFrame, str]:
    """A score against the noise rate: the figure, or None if no cell has a value; its data, and what its caption adds.

    Bands are 95% intervals. Each panel (loss, negatives) shows the lines of the others in grey. A dotted line is the
    best score without training.
    """
    names, added = drawn_cells(results, results.cells_of(dataset, noise), key)
    frame = score_frame(results, names, [key])
    if frame.empty:
        return None, frame, added
    methods = frame["cell"].map(results.methods)
    tables = {method: frame[[each == method for each in methods]].sort_values("rate") for method in methods.unique()}
    bests = {rate: untrained(results, dataset, noise, rate, key) for rate in results.rates(dataset, noise)}
    alone = {rate: best.score for rate, best in bests.items() if best is not None}
    panels = list(dict.fromkeys((method.unfiltered.panel, method.negatives) for method in tables))
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(0.85 + 2.95 * columns, 1.1 + 2.2 * rows), layout="constrained")
    grid = figures.grid_of(figure, len(panels), rows, columns, sharex=True, sharey=True)
    for axes, panel in zip(grid.flat, panels, strict=False):
        title = ", ".join(dict.fromkeys(map(labels.readable, filter(None, panel))))
        axes.set_title("\n".join(textwrap.wrap(title, 32)))
        axes.plot(list(alone), list(alone.values()), ":", color=figures.MUTED, linewidth=1.0, zorder=1.5)
        for method, line in tables.items():
            x, mean = line["rate"], line["score mean"]
            if (method.unfiltered.panel, method.negatives) != panel:
                axes.plot(x, mean, color=figures.CONTEXT, linewidth=0.8, zorder=1)
                continue
            colour, marker = look(results, method)
            axes.fill_between(x, line["score low"], line["score high"], color=colour, alpha=0.17, linewidth=0, zorder=2)
            axes.plot(x, mean, figures.filter_dash(results, method), marker=marker, color=colour, zorder=3)
        axes.xaxis.set_major_formatter(PercentTicks(1))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="x")
    lines = {}
    for method in tables:
        label = figures.positives_label(method) + (f", filter {method.filter}" if method.filter else "")
        lines[label] = (*look(results, method), figures.filter_dash(results, method))
    figures.legend(figure, lines)
    figure.supxlabel(labels.noise_axis(noise, results.user_labels), color=figures.MUTED, fontsize=9)
    figure.supylabel("\n".join(textwrap.wrap(score_label(key), 30 * rows)), color=figures.MUTED, fontsize=9)
    return figure, frame, added


say = Texts(__file__)

CARDS = 6  # findings, at most
SCORES = 6  # in a figure, at most


class Winners:
    """Which method wins."""

    anchor, title = "winners", "Which method wins"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """Findings, a figure of the objective for each dataset and noise model, and the winners."""
        table = winners(results)
        rows = [] if table is None else table.frame.to_dict("records")
        rows = [row for row in rows if not is_topline(results.cells[row["cell"]].noise)]
        if len(rows) <= CARDS:
            yield Findings(tuple(_finding(results, row) for row in rows))
        for dataset, noise in results.conditions:
            yield _drawing(results, dataset, noise)
        yield table
        yield folded(every_pair(results))


@once
def winners(results: Results) -> Table | None:
    """One row per dataset, noise model and rate: the winner, its lead, and how many are significantly worse."""
    compared = versus_winner(results)
    if compared.empty or results.experiment:
        return None
    rows = []
    for (dataset, noise, noise_rate), group in compared.groupby(["dataset", "noise", "rate"], sort=False):
        best, others = group.iloc[0], group[group["other"] != ""]
        row = {"dataset": dataset, "noise": noise_label(noise), "rate": noise_rate}
        row |= {"winner": results.methods[best["winner"]].label}
        row |= {f"score {part}": best[f"winner {part}"] for part in ("mean", "std", "low", "high", "n")}
        row["runner-up"] = results.methods[best["other"]].label if len(others) else NOTHING
        row |= {"lead": best["difference"], "lead low": best["low"], "lead high": best["high"]}
        worse = int(((others["p adjusted"] < LEVEL) & (others["difference"] > 0)).sum())
        row |= {"p adjusted": best["p adjusted"], "worse": worse if others["p adjusted"].notna().any() else np.nan}
        rows.append(row | {"others": len(others), "cell": best["winner"], "marks": marks(results, best["winner"])})
    block = results.study.block
    several, rivals = len(results.study.blocks) > 1, any(row["others"] for row in rows)
    columns = [
        *condition_columns(results),
        Column("winner", "Winner" if rivals else "Method"),
        Column("score", metric_label(results.study.search.objective), "score"),
    ]
    key = score_label(results.objective(next(iter(results.cells.values())).dataset))
    parts = [say("table", score=key)]
    if rivals:
        note = "winner minus runner-up, in points" + (", with its 95% interval" if several else "")
        columns += [Column("runner-up", "Runner-up"), Column("lead", "Lead", "difference_interval", note)]
        if several:
            parts.append(say("lead_tested", block=block, level=LEVEL))
        else:
            parts += [say("lead", block=block), say("one_seed")]
        parts.append(explained(results, results.cells))
    if several:
        parts.append(say("covers", sources=coverage(results, [results.objective(results.conditions[0][0])])))
        if one := one_search(results.study):
            parts.append(say("one_search", one=one))
    if rivals and several and (points := detectable(results)) is not None:
        parts.append(say("detectable", points=percent(points)))
    if rivals and several:
        columns.append(_p_column(results))
        columns.append(Column("worse", "Significantly worse", "share", f"methods whose adjusted p is below {LEVEL}"))
    if any(row["marks"] for row in rows):
        columns.append(Column("marks", "Remarks"))
    return Table("winners", "Winners", joined(*parts), tuple(columns), pd.DataFrame(rows))


def _p_column(results: Results) -> Column:
    return Column("p adjusted", "p (adjusted)", "p", say("adjusted", sources=interval_sources(results)))


def every_pair(results: Results) -> Table | None:
    """Every comparison behind the table of winners."""
    compared = versus_winner(results)
    compared = compared[compared["other"] != ""] if len(compared) else compared
    if compared.empty:
        return None
    kept = ["dataset", "noise", "rate", "winner", "other", "difference", "low", "high", "p", "p adjusted", "seeds"]
    frame = compared[kept].assign(
        noise=compared["noise"].map(noise_label),
        winner=[results.methods[name].label for name in compared["winner"]],
        other=[results.methods[name].label for name in compared["other"]],
    )
    tested = Column("low", "95% low", "difference"), Column("high", "95% high", "difference"), _p_column(results)
    columns = (
        *condition_columns(results),
        Column("winner", "Winner"),
        Column("other", "Compared with"),
        Column("difference", "Difference", "difference", "in points"),
        *(tested if len(results.study.blocks) > 1 else ()),
        block_column(results),
    )
    metric = metric_label(results.study.search.objective)
    caption = say("every_pair", metric=metric, block=results.study.block)
    return Table("comparisons", "Every method against the winner", caption, columns, frame)


def _finding(results: Results, row: dict) -> Finding:
    key = results.objective(row["dataset"])
    where = f"{metric_label(labels.metric_of(key))}, {results.level(results.cells[row['cell']].noise, row['rate'])}"
    where += results.where(row["dataset"], results.cells[row["cell"]].noise) + f", {labels.SETS[key.split('/')[0]]}"
    where += after_comma(marks(results, row["cell"]))
    lead = interval(*(percent(row[part], signed=True) for part in ("lead", "lead low", "lead high")))
    text = f"{lead} over {row['runner-up']}."
    if row["others"] > 1 and np.isfinite(row["worse"]):
        text = joined(text, say("worse", worse=f"{row['worse']:.0f}", others=row["others"]))
    if not row["others"]:
        text = say("only")
    without = untrained(results, row["dataset"], results.cells[row["cell"]].noise, row["rate"], key)
    if without is not None:
        text = joined(text, say("untrained", score=percent(without.score), label=without.label))
    return Finding(where, f"{percent(row['score mean'])} %", row["winner"], text)


def _drawing(results: Results, dataset: str, noise: str) -> Drawing:
    """The objective of all methods against the noise rate, or at a single rate the main scores with their intervals."""
    key, where = results.objective(dataset), results.where(dataset, noise)
    name, label = f"scores-{dataset}-{noise}", score_label(key)
    if len(results.rates(dataset, noise)) > 1:
        figure, data, added = against_noise(results, dataset, noise, key)
        axis = labels.noise_axis(noise, results.user_labels)
        caption = say("noise", score=label, axis=axis, where=where, means=means(results, [key]))
        dashes = say("dashes") if any(m.filter for m in results.methods.values()) else ""
        best = [untrained(results, dataset, noise, rate, key) for rate in results.rates(dataset, noise)]
        names = dict.fromkeys(baseline.label for baseline in best if baseline is not None)
        dotted = say("dotted", labels="; ".join(names)) if names else ""
        caption = joined(f"{caption};", say("panels"), dashes, dotted) + added
        return Drawing(name, figure, data, say("noise_alt", score=label, where=where), caption)
    keys = _main(results, dataset)
    ticks = f"; ticks: single {block_plural(results)}" if len(results.study.blocks) > 1 else ""
    caption = means(results, keys, where) + ticks
    caption += "; open diamonds: published values." if results.study.reference_values else "."
    cells, added = drawn_cells(results, results.cells_of(dataset, noise), key)
    data = score_frame(results, cells, keys)
    return Drawing(name, intervals(results, data, cells, keys), data, say("scores_alt", where=where), caption + added)


def _main(results: Results, dataset: str) -> list[str]:
    """All scores, or of too many the objective and what the study's verdicts are about."""
    keys = [key for key in results.score_keys if ScoreKey.parse(key).set != VALIDATION]
    if len(keys) <= SCORES:
        return keys
    wanted_scores = {results.objective(dataset), *(v.comparison.score for v in results.verdicts if v.comparison.score)}
    main = [key for key in keys if any(key == score or key.endswith(f"/{score}") for score in wanted_scores)]
    return (main or keys)[:SCORES]
