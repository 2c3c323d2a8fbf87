"""Effects of choices with their intervals, and shares of variance: a row for each."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.figures import style
from dml.report.numbers import rate as written


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
            panel.axvline(0, color=style.MUTED, linewidth=1)
            shown = own[own["rate"] == rate].set_index("level").loc[order]
            for place, (_, each) in enumerate(shown.iterrows()):
                sure = each["effect low"] * each["effect high"] > 0
                colour = style.MUTED if not sure else style.BLUE if each["effect"] > 0 else style.VERMILION
                _interval(panel, place, each, "effect", colour)
            _rows(panel, list(order))
        row[0].set_ylabel(own["axis"].iloc[0])
    for panel, rate in zip(grid[0], rates, strict=True):
        panel.set_title(f"{written(rate)} noise" if len(rates) > 1 else "")
    figure.supxlabel("effect in points, all else pooled", color=style.MUTED, fontsize=9)
    return figure


def share_rows(frame: pd.DataFrame) -> Figure:
    """A row for each term: its share, share low and share high."""
    figure = Figure(figsize=(6.4, 0.7 + 0.24 * len(frame)), layout="constrained")
    panel = figure.subplots()
    for place, (_, each) in enumerate(frame.iterrows()):
        _interval(panel, place, each, "share", style.BLUE, 100)
    _rows(panel, list(frame["term"]))
    panel.set_xlim(left=0)
    panel.set_xlabel("share of the variance between cells, in percent")
    return figure


def _interval(panel: Axes, place: int, row: pd.Series, key: str, colour: str, unit: float = 1) -> None:
    mean, low, high = (unit * row[name] for name in (key, f"{key} low", f"{key} high"))
    if low == low:
        panel.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
    panel.plot(mean, place, "o", color=colour, markersize=4.5)


def _rows(panel: Axes, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.grid(visible=False, axis="y")
