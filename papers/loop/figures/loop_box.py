"""LoOp's objective over its two angles with the four pairs of roots, and the errors of the printed signs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import PercentTicks
from papers.loop.theory.cases import Box, tangents
from papers.loop.theory.printed_formulas import SIGNS, Printed
from papers.series import Series, draw

EXAMPLE = tuple(np.array([value]) for value in (-0.35, -0.55, -0.15, -0.6, 2.4, 1.9))  # a, b, c, d, alpha0, beta0


def figure(printed: dict[str, list[Printed]], dimensions: tuple[int, ...]) -> tuple[Figure, pd.DataFrame]:
    """Two panels, and what they show over the objective.

    Parameters
    ----------
    printed : for each pairing of signs, what the formulas give in each dimension.
    """
    drawn = Figure(figsize=(8.2, 3.4), layout="constrained")
    left, right = drawn.subplots(1, 2, width_ratios=(1.15, 1))
    roots, errors = _objective(left, Box(*EXAMPLE)), _errors(right, printed["printed"], dimensions)
    return drawn, pd.concat([roots, errors], ignore_index=True)


def _objective(axes: Axes, box: Box) -> pd.DataFrame:
    grid = np.linspace(0, np.pi, 121)
    alpha, beta = np.meshgrid(grid, grid)
    value = box.value(alpha, beta)
    levels = np.linspace(value.min(), value.max(), 13)
    axes.contour(alpha, beta, value, levels=levels, colors=figures.CONTEXT, linewidths=0.9, linestyles="solid")
    for level in levels[1:7]:  # layers of one colour, because the dark version exchanges only known colours
        axes.contourf(alpha, beta, value, levels=[value.min() - 1, level], colors=[figures.BLUE], alpha=0.09)
    alpha0, beta0 = float(box.alpha0[0]), float(box.beta0[0])
    around, title = ([0, alpha0, alpha0, 0, 0], [0, 0, beta0, beta0, 0]), "interior solutions of one pair of arcs"
    series = [Series(title, "the box", *around, color=figures.INK, linewidth=1.2)]
    axes.text(alpha0 - 0.06, 0.08, "the box", ha="right", color=figures.INK, fontsize=8.5)
    roots = [[float(np.arctan(root[0])) % np.pi for root in pair] for pair in tangents(box)]
    for i, j in product(range(2), range(2)):
        colour, marker = (figures.GREEN, "o") if i == j else (figures.VERMILION, "X")
        text, place = (SIGNS[i] + SIGNS[j]).replace("-", "\N{MINUS SIGN}"), (roots[0][i], roots[1][j])
        look = {"color": colour, "markersize": 8, "markeredgecolor": figures.PAPER}
        series.append(Series(title, SIGNS[i] + SIGNS[j], *place, marker, **look))
        axes.annotate(text, place, (8, 5), textcoords="offset points", color=colour, weight="bold")
    frame = draw((axes,), series)
    axes.set_xlim(0, np.pi)
    axes.set_ylim(0, np.pi)
    axes.set_xticks([0, np.pi / 2, np.pi], ["0", "90°", "180°"])
    axes.set_yticks([0, np.pi / 2, np.pi], ["0", "90°", "180°"])
    axes.set_xlabel("alpha: along x1 to x2")
    axes.set_ylabel("beta: along y1 to y2")
    axes.grid(visible=False)
    return frame


def _errors(axes: Axes, printed: list[Printed], dimensions: tuple[int, ...]) -> pd.DataFrame:
    series, title = [], "random arcs, signs as printed"
    places = np.arange(len(dimensions))
    for shift, key, label, colour in (
        (-0.19, "none", "no valid case", figures.VERMILION),
        (0.19, "wrong", "wrong distance", figures.PURPLE),
    ):
        shares = [getattr(each, key) for each in printed]
        series.append(pd.DataFrame({"panel": title, "series": label, "x": dimensions, "y": shares}))
        axes.bar(places + shift, shares, 0.36, color=colour, label=label)
        for place, share in zip(places, shares, strict=True):
            axes.text(place + shift, share, f"{share:.1%}", ha="center", va="bottom", fontsize=8, color=figures.INK)
    axes.set_xticks(places, [f"{size}-d" for size in dimensions])
    axes.yaxis.set_major_formatter(PercentTicks(1))
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.2)
    axes.legend(frameon=False, loc="upper right", ncols=2)
    axes.set_title(title)
    return pd.concat(series)
