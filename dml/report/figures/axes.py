"""What the axes of several figures share: percentages at the ticks, and labels at the ends of lines."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter


def percent_ticks(one: float) -> PercentFormatter:
    """A formatter that writes `one` as 100%."""
    return PercentFormatter(one, decimals=0)


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], x: float, gap: float = 0.085) -> None:
    """Write labels at the right ends of lines, moved apart so that they do not overlap.

    Parameters
    ----------
    ends : for each line its last y in data units, its text and its colour.
    x : where the lines end, in data units.
    gap : the smallest distance between two labels, as a share of the axes' height.
    """
    low, high = axes.get_ylim()
    places = [(y - low) / (high - low) for y, _, _ in ends]
    order = sorted(range(len(ends)), key=lambda i: places[i])
    moved = dict.fromkeys(order, 0.0)
    for before, i in zip([None, *order], order, strict=False):
        moved[i] = places[i] if before is None else max(places[i], moved[before] + gap)
    crowded = [i for i in order if abs(moved[i] - places[i]) > 1e-9]
    shift = sum(moved[i] - places[i] for i in order) / len(order) if crowded else 0.0
    shift = max(shift, max(moved.values(), default=0.0) - 1.0)
    for i, (_, text, shade) in enumerate(ends):
        label = axes.annotate(
            text,
            (x, low + (moved[i] - shift) * (high - low)),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=shade,
            fontsize=8.5,
            fontweight="bold",
            annotation_clip=False,
        )
        label.set_in_layout(False)
