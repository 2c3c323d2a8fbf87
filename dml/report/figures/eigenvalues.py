"""Eigenvalues of class covariances beside those of samples of one Gaussian (supplement of Vasudeva et al. 2021)."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.figures import style
from dml.report.figures.axes import grid_of
from dml.report.figures.embedded import WIDTH, across

COLUMNS = 3  # methods in a row, at most
LOOKS = {"classes": (-0.17, style.BLUE, "o"), "samples of one Gaussian": (0.17, style.MUTED, "D")}
"""How far from the tick, colour and marker."""


def eigenvalues(frame: pd.DataFrame, unit: str) -> Figure:
    """A panel for each method: the eigenvalues of each class as dots, mean and standard deviation as a bar.

    Parameters
    ----------
    frame : method, series (`classes` or `samples of one Gaussian`), eigenvalue (1, 2, ...) and value.
    """
    methods = frame["method"].unique()
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns)
    figure = Figure(figsize=(0.8 + 2.9 * columns, 0.9 + 2.3 * rows), layout="constrained")
    grid = grid_of(figure, len(methods), rows, columns)
    for axes, (title, shown) in zip(grid.flat, frame.groupby("method", sort=False), strict=False):
        axes.set_title(textwrap.fill(title, WIDTH))
        for label, (shift, colour, marker) in LOOKS.items():
            _strip(axes, shown[shown["series"] == label], shift, colour, marker, label)
        numbers = shown["eigenvalue"].unique()
        axes.set_xticks(numbers, [str(i) for i in numbers])
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        axes.margins(x=0.2)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("eigenvalue of the class covariance", color=style.MUTED, fontsize=9)
    figure.supylabel(unit, color=style.MUTED, fontsize=9)
    return figure


def _strip(axes: Axes, own: pd.DataFrame, shift: float, colour: str, marker: str, label: str) -> None:
    """Dots around each tick, moved by `shift`, with their mean and standard deviation."""
    found = own.groupby("eigenvalue")["value"]
    for i, values in found:
        jitter = np.linspace(-0.09, 0.09, len(values)) if len(values) > 1 else np.zeros(1)
        axes.plot(i + shift + jitter, values, marker, color=colour, markersize=2.6, alpha=0.5, markeredgewidth=0)
    mean, std = found.mean(), found.std()
    axes.errorbar(mean.index + shift, mean, std, fmt=marker, color=colour, label=label, capsize=4, linewidth=1.6)
