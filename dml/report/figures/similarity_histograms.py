"""Histograms of similarities before and after training (poster of Ustinova & Lempitsky 2016)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.similarities import Overlap
from dml.report.figures import style
from dml.report.figures.embedded import across

COLUMNS = 3  # methods in a row, at most
LOOKS = {"positive": (style.BLUE, ""), "negative": (style.VERMILION, "////")}


def similarity_histograms(methods: Sequence[str], moments: Mapping[str, Sequence[Overlap]], cosine: bool) -> Figure:
    """A column for each method, a row for each moment: `before training`, `after training`.

    Parameters
    ----------
    methods : titles.
    moments : for each moment one per method.
    cosine : similarities; otherwise minus the distances, which are drawn as distances.
    """
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns) * len(moments)
    figure = Figure(figsize=(0.6 + 3.0 * columns, 0.9 + 1.75 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        for j, (moment, overlaps) in enumerate(moments.items()):
            axes = grid[row * len(moments) + j, column]
            axes.set_axis_on()
            _panel(axes, overlaps[i], cosine)
            if j == 0:
                axes.set_title(title)
            if column == 0:
                axes.set_ylabel(moment)
    handles = [
        grid[0, 0].fill_between([], [], color=colour, hatch=hatch, alpha=0.45, label=f"{kind} pairs")
        for kind, (colour, hatch) in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    below = "cosine similarity" if cosine else "Euclidean distance"
    figure.supxlabel(f"{below} of two images", color=style.MUTED, fontsize=9)
    return figure


def _panel(axes: Axes, found: Overlap, cosine: bool) -> None:
    edges = found.edges if cosine else -found.edges
    for shares, (colour, hatch) in zip((found.positive, found.negative), LOOKS.values(), strict=True):
        axes.stairs(shares, edges, fill=True, facecolor=colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, fill=True, facecolor="none", edgecolor=colour, hatch=hatch, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=1.2)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    text = f"reverse order {found.reverse:.1%}\noverlap {found.area:.1%}"
    axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=8, color=style.INK)
