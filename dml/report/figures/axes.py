"""What the axes of several figures share: percentages at the ticks, and labels at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

MOST_DIGITS = 9


class PercentTicks(Formatter):
    """Writes ticks as percentages, with as many decimals as they need to differ and to be right.

    Parameters
    ----------
    one : the value that is written as 100%.
    """

    def __init__(self, one: float) -> None:
        self._one = one

    def __call__(self, x: float, pos: int | None = None) -> str:
        """One value by itself, as under the cursor."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        """The labels of an axis. An error of a hundredth of the smallest step between ticks is not visible."""
        shares = np.asarray(list(values), dtype=float) * (100 / self._one)
        steps = np.diff(np.unique(shares))
        visible = 0.01 * (steps.min() if len(steps) else np.abs(shares).max(initial=1.0))
        for digits in range(MOST_DIGITS):
            if np.abs(np.round(shares, digits) - shares).max(initial=0.0) <= visible:
                break
        return [f"{share:.{digits}f}%".replace("-", "\N{MINUS SIGN}") for share in np.round(shares, digits) + 0.0]


def grid_of(figure: Figure, number: int, rows: int, columns: int, **shared: Any) -> np.ndarray:
    """The axes (rows, columns) of so many panels; the places that are left in the last row stay empty.

    Parameters
    ----------
    shared : `sharex` and `sharey`, as `Figure.subplots` takes them.
    """
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat[number:]:
        axes.set_axis_off()
    return grid


def place(
    figure: Figure,
    shape: tuple[int, int],
    left: float,
    right: float,
    top: float,
    bottom: float,
    gaps: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Fix where a grid of panels is. To find room, a layout engine measures each label twice, a seventh of a report.

    Parameters
    ----------
    shape : rows and columns.
    left, right, top, bottom : margins in inches.
    gaps : inches between columns, and between rows.
    """
    (width, height), (rows, columns) = figure.get_size_inches(), shape
    across = (width - left - right - (columns - 1) * gaps[0]) / columns
    down = (height - top - bottom - (rows - 1) * gaps[1]) / rows
    figure.subplots_adjust(
        left / width, bottom / height, 1 - right / width, 1 - top / height, gaps[0] / across, gaps[1] / down
    )


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], x: float, gap: float = 0.085) -> None:
    """Write labels at the right ends of lines, moved apart so that they neither overlap nor touch the axis below.

    Parameters
    ----------
    ends : for each line its last y in data units, its text and its colour.
    x : where the lines end, in data units.
    gap : the smallest distance between two labels, as a share of the axes' height.
    """
    low, high = axes.get_ylim()
    places = [(y - low) / (high - low) for y, _, _ in ends]
    order = sorted(range(len(ends)), key=lambda i: places[i])
    spread = _apart([places[i] for i in order], gap)
    shift = sum(y - places[i] for y, i in zip(spread, order, strict=True)) / max(len(ends), 1)
    shift = max(shift, max(spread, default=0.0) - 1.0)
    moved = dict(zip(order, _apart([y - shift for y in spread], gap, lowest=gap / 2), strict=True))
    for i, (_, text, shade) in enumerate(ends):
        label = axes.annotate(
            text,
            (x, low + moved[i] * (high - low)),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=shade,
            fontsize=8.5,
            fontweight="bold",
            annotation_clip=False,
        )
        label.set_in_layout(False)


def _apart(places: Sequence[float], gap: float, lowest: float = -math.inf) -> list[float]:
    """The ascending places, raised where one is below the lowest or nearer than the gap to the one before."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap if found else lowest))
    return found
