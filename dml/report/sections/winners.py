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
from dml.report import figures
from dml.report.analysis.flags import marks
from dml.report.analysis.intervals import coverage, over
from dml.report.analysis.paired import LEVEL, detectable, is_worse, versus_winner
from dml.report.analysis.selection import explained
from dml.report.analysis.untrained import untrained
from dml.report.best_methods import drawn_cells
from dml.report.figures import PercentTicks, arrange, grid_of, look, short_label
from dml.report.labels import (
    SETS,
    Texts,
    is_topline,
    joined,
    metric_label,
    metric_of,
    noise_axis,
    noise_label,
    score_label,
)
from dml.report.methods import after_comma
from dml.report.numbers import NOTHING, interval, percent, rate
from dml.report.page.blocks import Block, Column, Drawing, Finding, Findings, Folded, Table, folded
from dml.report.results import Results, once
from dml.report.sections._rows import condition_columns, difference_columns, means, one_seed, p_adjusted, score_frame
from dml.report.sections.all_results import against_noise
from dml.report.sections.reference_values import reference_values_by_cell
from dml.types import VALIDATION, ScoreKey


def intervals(results: Results, frame: pd.DataFrame, cells: Sequence[str], keys: list[str]) -> Figure | None:
    """The figure of cells with one dataset, noise model and rate, or None if none of them has one of the scores.

    Parameters
    ----------
    frame : cell, metric (the label of a key), score mean, score low, score high and score n.
    """
    found = {(row["cell"], row["metric"]): row for row in frame.to_dict("records")}
    keys = [key for key in keys if any((name, score_label(key)) in found for name in cells)]
    if not keys:
        return None
    references = reference_values_by_cell(results)
    columns = min(3, len(keys))
    rows = -(-len(keys) // columns)
    labels = [short_label(results, results.methods[name]) for name in cells]
    beneath = {key: textwrap.wrap(score_label(key).split(", ", 1)[1], 28) for key in keys}
    below = _below(results, cells[0])
    left = 0.2 + figures.LETTER * max(map(len, labels))
    head, foot = 0.27, 0.32 + 0.125 * max(map(len, beneath.values()))  # inches above and below each panel
    height = rows * (head + foot + max(0.8, 0.1 + 0.34 * len(cells))) + (0.25 if below else 0.0)
    figure = Figure(figsize=(max(2.2, left - 0.4) + 2.55 * columns, height))
    grid = grid_of(figure, len(keys), rows, columns, sharey=True)
    arrange(figure, (rows, columns), left, 0.2, head, foot + (0.25 if below else 0.0), (0.25, head + foot))
    for axes, key in zip(grid.flat, keys, strict=False):
        for at, name in enumerate(cells):
            if (name, score_label(key)) in found:
                colour_and_marker = look(results, results.methods[name])
                _row(axes, at, results.values(name, key), found[name, score_label(key)], *colour_and_marker)
            if (name, key) in references:
                axes.plot(
                    references[name, key], at, "D", color=figures.PAPER, markeredgecolor=figures.INK, markersize=5.5
                )
        axes.set_title(metric_label(metric_of(key)))
        axes.set_xlabel("\n".join(beneath[key]), fontsize=7.5)
        axes.set_yticks(range(len(cells)), labels)
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(PercentTicks(100))
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
    if below:
        figure.supxlabel(below, color=figures.MUTED, fontsize=9, y=0.06 / height, va="bottom")
    return figure


def _below(results: Results, name: str) -> str:
    """What all panels show: the noise rate, dataset and noise model, as far as the study has several."""
    cell = results.cells[name]
    what = "of training samples left out" if is_topline(cell.noise) else "of training labels are wrong"
    share = f"{rate(cell.rate)} {what}" if cell.rate else ""
    share = results.level(*cell.noise_level) if results.own_labels and not is_topline(cell.noise) else share
    return ", ".join(filter(None, (share, results.where(cell.dataset, cell.noise).removeprefix(", "))))


def _row(axes: Axes, at: int, values: pd.Series, row: dict[Hashable, Any], colour: str, marker: str) -> None:
    axes.plot(values, [at + 0.24] * len(values), "|", color=colour, alpha=0.55, markersize=5)
    if row["score n"] > 1:
        axes.plot([row["score low"], row["score high"]], [at, at], color=colour, linewidth=2.4, solid_capstyle="butt")
    axes.plot(row["score mean"], at, marker, color=colour, markersize=6)


say = Texts(__file__)

CARDS = 6  # findings, at most
OPEN = 3  # figures of datasets and noise models that are not folded, at most
SCORES = 6  # in one figure, at most; the others are folded


class Winners:
    """Which method wins."""

    anchor, title = "winners", "Which method wins"

    def applies(self, results: Results) -> bool:
        """At least one confirmed trial."""
        return not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """Findings, a figure of the objective for each dataset and noise model, and the winners."""
        yield _findings(results)
        for place, (dataset, noise) in enumerate(results.conditions):
            blocks = tuple(_drawings(results, dataset, noise))
            if place < OPEN:
                yield from blocks
            elif blocks:
                yield Folded(f"{metric_label(results.study.search.objective)}{results.where(dataset, noise)}", blocks)
        yield winners(results)
        yield folded(every_pair(results))


def _findings(results: Results) -> Findings | None:
    """The winner of each dataset and noise rate in one sentence, unless there are too many. Not of toplines."""
    table = winners(results)
    rows = [] if table is None else table.frame.to_dict("records")
    rows = [row for row in rows if not is_topline(results.cells[row["cell"]].noise)]
    return Findings(tuple(_finding(results, row) for row in rows)) if 0 < len(rows) <= CARDS else None


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
        worse = sum(map(is_worse, others.to_dict("records")))
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
            parts += [say("lead", block=block), one_seed()]
        parts.append(explained(results, results.cells))
    if several:
        parts.append(say("covers", covers=coverage(results, [results.objective(results.conditions[0][0])])))
        if one := one_search(results.study):
            parts.append(say("one_search", one=one))
    if rivals and several and (points := detectable(results)) is not None:
        parts.append(say("detectable", points=percent(points)))
    if rivals and several:
        columns.append(p_adjusted(results))
        columns.append(Column("worse", "Significantly worse", "share", f"methods whose adjusted p is below {LEVEL}"))
    if any(row["marks"] for row in rows):
        columns.append(Column("marks", "Remarks"))
    return Table("winners", "Winners", joined(*parts), tuple(columns), pd.DataFrame(rows))


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
    columns = (
        *condition_columns(results),
        Column("winner", "Winner"),
        Column("other", "Compared with"),
        *difference_columns(results, p_adjusted(results), len(results.study.blocks) > 1),
    )
    metric = metric_label(results.study.search.objective)
    caption = say("every_pair", metric=metric, block=results.study.block)
    return Table("comparisons", "Every method against the winner", caption, columns, frame)


def _finding(results: Results, row: dict) -> Finding:
    key = results.objective(row["dataset"])
    where = f"{metric_label(metric_of(key))}, {results.level(results.cells[row['cell']].noise, row['rate'])}"
    where += results.where(row["dataset"], results.cells[row["cell"]].noise) + f", {SETS[key.split('/')[0]]}"
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


def _drawings(results: Results, dataset: str, noise: str) -> Iterator[Block]:
    """The objective of all methods, in the forms that suit their number and the number of noise rates."""
    key, rates, where = results.objective(dataset), results.rates(dataset, noise), results.where(dataset, noise)
    name, label = f"scores-{dataset}-{noise}", score_label(key)
    cells = results.cells_of(dataset, noise)
    if len(rates) > 1:
        figure, data, added = against_noise(results, dataset, noise, key)
        axis = noise_axis(noise, results.own_labels)
        caption = say("noise", score=label, axis=axis, where=where, means=means(results, [key]))
        dashes = say("dashes") if any(m.filter for m in results.methods.values()) else ""
        caption = joined(f"{caption};", say("panels"), dashes, _dotted(results, dataset, noise, key)) + added
        yield Drawing(name, figure, data, say("noise_alt", score=label, where=where), caption)
        return
    keys = [k for k in results.score_keys if ScoreKey.parse(k).set != VALIDATION]
    caption = means(results, keys, where) + (
        f"; ticks: single {over(results)}" if len(results.study.blocks) > 1 else ""
    )
    caption += "; open diamonds: published values." if results.study.reference_values else "."
    cells, added = drawn_cells(results, cells, key)
    caption += added
    alt = say("scores_alt", where=where)
    main = _main(results, dataset, keys)
    others = [k for k in keys if k not in main]
    data = score_frame(results, cells, main)
    yield Drawing(name, intervals(results, data, cells, main), data, alt, caption)
    if others:
        data = score_frame(results, cells, others)
        figure = intervals(results, data, cells, others)
        yield Folded("The other scores", (Drawing(f"{name}-others", figure, data, alt, caption),))


def _dotted(results: Results, dataset: str, noise: str, key: str) -> str:
    """What the figure's dotted line is; nothing without one."""
    found = [untrained(results, dataset, noise, rate, key) for rate in results.rates(dataset, noise)]
    labels = dict.fromkeys(own.label for own in found if own is not None)
    return say("dotted", labels="; ".join(labels)) if labels else ""


def _main(results: Results, dataset: str, keys: list[str]) -> list[str]:
    """All scores, or of too many the objective and what the study's verdicts are about."""
    if len(keys) <= SCORES:
        return keys
    asked = {results.objective(dataset), *(v.comparison.score for v in results.verdicts if v.comparison.score)}
    main = [key for key in keys if any(key == score or key.endswith(f"/{score}") for score in asked)]
    return (main or keys)[:SCORES]
