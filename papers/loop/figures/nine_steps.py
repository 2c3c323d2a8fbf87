"""Four samples before and after one gradient step of LoOp's loss, for each choice of (p1, p2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from papers.loop.theory import cases as arc_cases
from papers.loop.theory import pair_steps
from papers.loop.theory.random_arcs import Arcs
from papers.series import Series, draw

PLACES = ((-0.2, 0.1), (-0.55, 0.3), (0.1, 0.1), (-0.2, -0.55))  # x1, x2, y1, y2 as seen from above
NAMES = ("x1", "x2", "y1", "y2")
SIZE = 0.12  # of the step
SHAPES = (("o", figures.BLUE), ("o", figures.BLUE), ("s", figures.VERMILION), ("s", figures.VERMILION))


def figure() -> tuple[Figure, pd.DataFrame]:
    """Ten panels: the nine choices, the closest of them framed, and the closest points of the arcs."""
    before = Arcs(*(np.array([[x, y, np.sqrt(1 - x * x - y * y)]]) for x, y in PLACES))
    points = [pair_steps.choice(case, 1) for case in range(9)]
    nearest = int(np.argmin([pair_steps.distance(before, p)[0] for p in points]))
    drawn = Figure(figsize=(8.2, 5.4), layout="constrained")
    names = ["{}: x {}, y {}".format(case, *pair_steps.CHOICES[case]) for case in range(9)]
    panels, series = list(drawn.subplots(2, 5).flat), list[Series]()
    for case, (axes, chosen) in enumerate(zip(panels, (*points, pair_steps.closest(before)), strict=True)):
        after = pair_steps.step(before, chosen, "plain", SIZE)
        series += _series((*names, "closest points")[case], before, after, chosen)
        for name, place in zip(NAMES, PLACES, strict=True):
            axes.annotate(name, place, (-4, 7), textcoords="offset points", fontsize=8, color=figures.MUTED)
        framed = case in (nearest, 9)
        axes.set_xlabel(_changes(before, after), fontsize=8, color=figures.INK)
        axes.set_xlim(-0.72, 0.36)
        axes.set_ylim(-0.74, 0.48)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(figures.GREEN if framed else figures.GRID)
        axes.spines[:].set_linewidth(2.2 if framed else 0.8)
    return drawn, draw(panels, series, fontsize=8.5)


def _series(panel: str, before: Arcs, after: Arcs, points: pair_steps.Points) -> Iterator[Series]:
    for name, start, end, colour in (
        ("x", after.x1, after.x2, figures.BLUE),
        ("y", after.y1, after.y2, figures.VERMILION),
    ):
        yield Series(panel, f"arc {name}1 to {name}2 after", *_way(start, end).T[:2], color=colour, linewidth=1.2)
    for name, old, new, (marker, colour) in zip(NAMES, before, after, SHAPES, strict=True):
        for when, (x, y, _), fill in (("before", old[0], "none"), ("after", new[0], "full")):
            yield Series(panel, f"{name} {when}", x, y, marker, color=colour, markersize=6, fillstyle=fill)
    for name, weights, ends in (("p1", points[:2], before[:2]), ("p2", points[2:], before[2:])):
        place = weights[0][:, None] * ends[0] + weights[1][:, None] * ends[1]
        x, y, _ = (place / np.linalg.norm(place))[0]
        yield Series(panel, name, x, y, ".", color=figures.INK, markersize=5)


def _way(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    share = np.linspace(0, 1, 25)[:, None]
    way = (1 - share) * start + share * end
    return way / np.linalg.norm(way, axis=1, keepdims=True)


def _changes(before: Arcs, after: Arcs) -> str:
    def lengths(arcs: Arcs) -> tuple[float, float, float]:
        x, y = (float(np.linalg.norm(a - b)) for a, b in ((arcs.x1, arcs.x2), (arcs.y1, arcs.y2)))
        return x, y, float(arc_cases.least(arc_cases.box_of(arcs)).distance[0])

    changes = [new - old for old, new in zip(lengths(before), lengths(after), strict=True)]
    texts = [f"{name} {change:+.3f}" for name, change in zip(("x1 x2", "y1 y2", "arcs"), changes, strict=True)]
    return "\n".join(texts).replace("-", "\N{MINUS SIGN}")
