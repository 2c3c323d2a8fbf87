"""Eigenvalues of class covariances beside those of samples of one Gaussian (supplement of Vasudeva et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.spectrum import Spectrum
from dml.report.figures import style
from dml.report.figures.embedded import across

COLUMNS = 3  # methods in a row, at most
DOTS = 100  # classes that are drawn, at most
APART = 0.17  # of the classes and the null, from the tick


def eigenvalues(methods: Sequence[str], found: Sequence[Spectrum], unit: str) -> Figure:
    """A panel for each method: the eigenvalues of each class as dots, mean and standard deviation as a bar."""
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns)
    figure = Figure(figsize=(0.8 + 2.9 * columns, 0.9 + 2.3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(methods) :]:
        axes.set_axis_off()
    for axes, title, spectrum in zip(grid.flat, methods, found, strict=False):
        axes.set_title(title)
        _strip(axes, spectrum.classes, -APART, style.BLUE, "o", "classes")
        _strip(axes, spectrum.null[0], APART, style.MUTED, "D", "samples of one Gaussian")
        axes.set_xticks(range(spectrum.classes.shape[1]), [str(i + 1) for i in range(spectrum.classes.shape[1])])
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        axes.margins(x=0.2)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("eigenvalue of the class covariance", color=style.MUTED, fontsize=9)
    figure.supylabel(unit, color=style.MUTED, fontsize=9)
    return figure


def _strip(axes: Axes, values: np.ndarray, shift: float, colour: str, marker: str, label: str) -> None:
    """Dots (K, d) around each tick, moved by `shift`, with their mean and standard deviation."""
    dots = values[:DOTS]
    jitter = np.linspace(-0.09, 0.09, len(dots)) if len(dots) > 1 else np.zeros(1)
    for i in range(values.shape[1]):
        axes.plot(i + shift + jitter, dots[:, i], marker, color=colour, markersize=2.6, alpha=0.5, markeredgewidth=0)
    x = np.arange(values.shape[1]) + shift
    axes.errorbar(
        x,
        values.mean(axis=0),
        values.std(axis=0, ddof=1),
        fmt=marker,
        color=colour,
        capsize=4,
        linewidth=1.6,
        label=label,
    )
