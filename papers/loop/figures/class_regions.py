"""Pairs of classes for which the way between two samples of one class enters the region of the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from dml.report import figures
from papers.loop.theory.class_membership import Counterexample
from papers.series import Series, draw

TITLES = ("equal eigenvalues, flat", "rotations of one law, sphere", "cap beyond a half sphere")


def figure(examples: tuple[Counterexample, Counterexample, Counterexample]) -> tuple[Figure, pd.DataFrame]:
    """A panel each: flat space, the sphere from above, and the sphere along the boundary. And what is over regions."""
    drawn = Figure(figsize=(8.2, 3.1), layout="constrained")
    panels = drawn.subplots(1, 3)
    for axes in panels:
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
    _flat(panels[0], examples[0])
    _sphere(panels[1], examples[1])
    _sphere(panels[2], examples[2])
    ways = [series for title, example in zip(TITLES, examples, strict=True) for series in _way(title, example)]
    return drawn, draw(panels, [*_ellipses(examples[0]), *ways])


def _flat(axes: Axes, example: Counterexample) -> None:
    x, y = np.meshgrid(np.linspace(-6.8, 6.8, 161), np.linspace(-5, 8.6, 161))
    points = np.stack([x, y], axis=-1)
    _shade(axes, x, y, example.first.log(points) - example.second.log(points))
    axes.set_xlim(-6.8, 6.8)
    axes.set_ylim(-5, 8.6)


def _ellipses(example: Counterexample) -> Iterator[Series]:
    around = np.linspace(0, 2 * np.pi, 121)
    for law, colour, name in ((example.first, figures.BLUE, "blue"), (example.second, figures.VERMILION, "red")):
        covariance = np.linalg.inv(law.a)
        mean, spread = covariance @ law.b, np.sqrt(np.diag(covariance))  # the axes are the coordinates'
        for times in (1, 2):
            path = mean[:, None] + times * spread[:, None] * np.stack([np.cos(around), np.sin(around)])
            yield Series(TITLES[0], f"{name} class, {times} std", *path, color=colour, linewidth=1.1)


def _sphere(axes: Axes, example: Counterexample) -> None:
    """The half sphere towards the third axis, without perspective."""
    grid = np.linspace(-1, 1, 241)
    x, y = np.meshgrid(grid, grid)
    height = np.sqrt(np.maximum(1 - x**2 - y**2, 0))
    points = np.stack([x, y, height], axis=-1)
    ratio = example.first.log(points) - example.second.log(points)
    ratio[x**2 + y**2 > 1] = np.nan
    _shade(axes, x, y, ratio)
    if np.any(example.first.a != example.second.a):
        for law, colour in ((example.first, figures.BLUE), (example.second, figures.VERMILION)):
            log = np.where(np.isnan(ratio), np.nan, law.log(points))
            levels = np.nanmax(log) - np.array([2.0, 0.5])
            axes.contour(x, y, log, levels=levels, colors=colour, linewidths=1.1, linestyles="solid")
    axes.add_patch(Circle((0, 0), 1, fill=False, color=figures.MUTED, linewidth=1))
    axes.set_xlim(-1.05, 1.05)
    axes.set_ylim(-1.05, 1.05)


def _shade(axes: Axes, x: np.ndarray, y: np.ndarray, ratio: np.ndarray) -> None:
    axes.contourf(x, y, ratio, levels=[0, np.nanmax(ratio)], colors=[figures.BLUE], alpha=0.16)
    axes.contour(x, y, ratio, levels=[0], colors=figures.MUTED, linewidths=1)


def _way(title: str, example: Counterexample) -> Iterator[Series]:
    """The two samples, the way between them and its middle, by their first two coordinates."""
    way = np.linspace(0, 1, 41)[:, None]
    path = (1 - way) * example.start + way * example.end
    if path.shape[1] == 3:
        path /= np.linalg.norm(path, axis=1, keepdims=True)
    yield Series(title, "way", *path.T[:2], color=figures.INK, linewidth=1.4)
    for name, point in (("start", example.start), ("end", example.end)):
        look = {"color": figures.BLUE, "markersize": 7, "markeredgecolor": figures.PAPER}
        yield Series(title, name, point[0], point[1], "o", **look)
    look = {"color": figures.VERMILION, "markersize": 9, "zorder": 4, "markeredgecolor": figures.PAPER}
    yield Series(title, "middle", example.middle[0], example.middle[1], "X", **look)
