"""Pairs of classes for which the way between two samples of one class enters the region of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from dml.report.figures import style
from papers.loop.theory.own_class import Counterexample

TITLES = ("equal eigenvalues, flat", "rotations of one law, sphere", "cap beyond a half sphere")


def figure(examples: tuple[Counterexample, Counterexample, Counterexample]) -> Figure:
    """A panel each: flat space, the sphere from above, and the sphere along the boundary."""
    drawn = Figure(figsize=(8.2, 3.1), layout="constrained")
    panels = drawn.subplots(1, 3)
    for axes, title in zip(panels, TITLES, strict=True):
        axes.set_title(title)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
    _flat(panels[0], examples[0])
    _sphere(panels[1], examples[1], (0, 1))
    _sphere(panels[2], examples[2], (0, 1))
    return drawn


def _flat(axes: Axes, example: Counterexample) -> None:
    x, y = np.meshgrid(np.linspace(-6.8, 6.8, 161), np.linspace(-5, 8.6, 161))
    points = np.stack([x, y], axis=-1)
    _shade(axes, x, y, example.first.log(points) - example.second.log(points))
    around = np.linspace(0, 2 * np.pi, 121)
    for law, colour, name in ((example.first, style.BLUE, "blue"), (example.second, style.VERMILION, "red")):
        covariance = np.linalg.inv(law.a)
        mean, spread = covariance @ law.b, np.sqrt(np.diag(covariance))  # the axes are the coordinates'
        for times in (1, 2):
            path = mean[:, None] + times * spread[:, None] * np.stack([np.cos(around), np.sin(around)])
            axes.plot(*path, color=colour, linewidth=1.1, label=f"{name} class, {times} std")
    axes.plot(*np.stack([example.start, example.end]).T, color=style.INK, linewidth=1.4, label="way")
    _marks(axes, example, (0, 1))
    axes.set_xlim(-6.8, 6.8)
    axes.set_ylim(-5, 8.6)


def _sphere(axes: Axes, example: Counterexample, shown: tuple[int, int]) -> None:
    """The half sphere towards the third axis, without perspective."""
    grid = np.linspace(-1, 1, 241)
    x, y = np.meshgrid(grid, grid)
    height = np.sqrt(np.maximum(1 - x**2 - y**2, 0))
    points = np.stack([x, y, height], axis=-1)
    ratio = example.first.log(points) - example.second.log(points)
    ratio[x**2 + y**2 > 1] = np.nan
    _shade(axes, x, y, ratio)
    if np.any(example.first.a != example.second.a):
        for law, colour in ((example.first, style.BLUE), (example.second, style.VERMILION)):
            log = np.where(np.isnan(ratio), np.nan, law.log(points))
            levels = np.nanmax(log) - np.array([2.0, 0.5])
            axes.contour(x, y, log, levels=levels, colors=colour, linewidths=1.1, linestyles="solid")
    axes.add_patch(Circle((0, 0), 1, fill=False, color=style.MUTED, linewidth=1))
    way = np.linspace(0, 1, 41)[:, None]
    arc = (1 - way) * example.start + way * example.end
    arc /= np.linalg.norm(arc, axis=1, keepdims=True)
    axes.plot(*arc[:, shown].T, color=style.INK, linewidth=1.4, label="way")
    _marks(axes, example, shown)
    axes.set_xlim(-1.05, 1.05)
    axes.set_ylim(-1.05, 1.05)


def _shade(axes: Axes, x: np.ndarray, y: np.ndarray, ratio: np.ndarray) -> None:
    axes.contourf(x, y, ratio, levels=[0, np.nanmax(ratio)], colors=[style.BLUE], alpha=0.16)
    axes.contour(x, y, ratio, levels=[0], colors=style.MUTED, linewidths=1)


def _marks(axes: Axes, example: Counterexample, shown: tuple[int, int]) -> None:
    edge: dict[str, Any] = {"markeredgecolor": style.PAPER}
    for point in (example.start, example.end):
        axes.plot(*point[list(shown)], "o", color=style.BLUE, markersize=7, label="sample", **edge)
    middle = example.middle[list(shown)]
    axes.plot(*middle, "X", color=style.VERMILION, markersize=9, zorder=4, label="middle", **edge)
