"""What each choice is worth, pooled over all else: the answer of a study whose axes are crossed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.counting import counted
from dml.report import figures
from dml.report.analysis.factorial import Crossed, Effect, crossed, pooled_effects
from dml.report.analysis.intervals import CORRECTED, over
from dml.report.labels import Texts, joined, readable, score_label
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Column, Drawing, Table, folded
from dml.report.results import Results
from dml.report.sections._rows import block_column, rate_column


def effect_rows(frame: pd.DataFrame) -> Figure:
    """A row of panels for each axis, a panel for each noise rate; levels in the order of the first rate's effects.

    Parameters
    ----------
    frame : axis, level, rate, effect, effect low and effect high.
    """
    rates, axes = frame["rate"].unique(), [own for _, own in frame.groupby("axis", sort=False)]
    heights = [own["level"].nunique() + 1.2 for own in axes]
    figure = Figure(figsize=(1.9 + 2.3 * len(rates), 0.5 + 0.23 * sum(heights)), layout="constrained")
    grid = figure.subplots(
        len(axes), len(rates), squeeze=False, sharey="row", sharex=True, gridspec_kw={"height_ratios": heights}
    )
    for row, own in zip(grid, axes, strict=True):
        order = own[own["rate"] == rates[0]].sort_values("effect", ascending=False, kind="stable")["level"]
        for panel, rate in zip(row, rates, strict=True):
            panel.axvline(0, color=figures.MUTED, linewidth=1)
            shown = own[own["rate"] == rate].set_index("level").loc[order]
            for place, (_, each) in enumerate(shown.iterrows()):
                sure = each["effect low"] * each["effect high"] > 0
                colour = figures.MUTED if not sure else figures.BLUE if each["effect"] > 0 else figures.VERMILION
                low, high = each["effect low"], each["effect high"]
                if low == low:
                    panel.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
                panel.plot(each["effect"], place, "o", color=colour, markersize=4.5)
            _rows(panel, list(order))
        row[0].set_ylabel(own["axis"].iloc[0])
    for panel, rate in zip(grid[0], rates, strict=True):
        panel.set_title(f"{written(rate)} noise" if len(rates) > 1 else "")
    figure.supxlabel("effect in points, all else pooled", color=figures.MUTED, fontsize=9)
    return figure


def _rows(panel: Axes, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.grid(visible=False, axis="y")


say = Texts(__file__)


class EffectsOfChoices:
    """Effects with intervals at each noise rate."""

    anchor, title = "effects", "What each choice is worth"

    def applies(self, results: Results) -> bool:
        """At least two of loss, positives and negatives are crossed."""
        return not results.confirmed.empty and bool(crossed(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """For each dataset and noise model a figure of effects and their table."""
        for block in crossed(results):
            yield from _blocks(results, block)


def _blocks(results: Results, block: Crossed) -> Iterator[Block | None]:
    name, where = f"{block.dataset}-{block.noise}", results.where(block.dataset, block.noise)
    effects = _effects_table(results, name, pooled_effects(block))
    yield Drawing(
        f"effects-{name}",
        effect_rows(effects.frame),
        effects.frame,
        say("effects_alt"),
        _caption(block, score_label(results.objective(block.dataset)), where, results.study.block),
    )
    yield folded(effects)


def _caption(block: Crossed, key: str, where: str, unit: str) -> str:
    left_out = say("left_out", choices=", ".join(map(readable, block.left_out))) if block.left_out else ""
    blocks = counted(len(block.seeds), unit)
    return joined(
        say(
            "effects",
            score=key,
            blocks=blocks,
            block=unit,
            corrected=f"; {CORRECTED}" * bool(block.overlap),
            where=where,
        ),
        left_out,
    )


def _effects_table(results: Results, name: str, effects: list[Effect]) -> Table:
    rows = [
        {
            "axis": readable(e.axis),
            "level": readable(e.level),
            "rate": e.rate,
            "effect": e.summary.mean,
            "effect low": e.summary.low,
            "effect high": e.summary.high,
            "p": e.p,
            "holm": e.holm,
            "seeds": e.summary.n,
        }
        for e in effects
    ]
    columns = (
        *(Column("axis", "Choice of", "name"), Column("level", "Choice", "name")),
        *(rate_column(results), Column("effect", "Effect", "difference_interval", "in points")),
        Column("holm", "p (Holm)", "p", say("holm", over=over(results))),
        block_column(results),
    )
    return Table(f"effects-{name}", "Effects of choices", say("effects_table"), columns, pd.DataFrame(rows))
