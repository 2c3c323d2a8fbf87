"""How figures look, and how they are saved: the same bytes from the same data, in a light and a dark version.

Colours tell policies apart under the common forms of colour blindness (after Okabe and Ito 2008), and each policy also
has a marker of its own and a label beside its line. The dark version is the light one with its colours exchanged.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID, CONTEXT = "#ffffff", "#1c2128", "#59636e", "#e4e7eb", "#cdd3da"
BLUE, VERMILION, GREEN, PURPLE, OCHRE, VIOLET = "#0867ad", "#c24a00", "#00785b", "#a8417f", "#876200", "#6546b5"
DARK = {
    PAPER: "#15181d",
    INK: "#e8eaed",
    MUTED: "#a3acb8",
    GRID: "#2b313a",
    CONTEXT: "#434b57",
    BLUE: "#5cb3f2",
    VERMILION: "#ff9058",
    GREEN: "#3ecf9f",
    PURPLE: "#e88fc4",
    OCHRE: "#dcb44a",
    VIOLET: "#b09cf5",
}
POLICIES = {
    "easy": (BLUE, "o"),
    "random": (VERMILION, "s"),
    "all": (GREEN, "^"),
    "semihard": (PURPLE, "D"),
    "hard": (OCHRE, "v"),
    "multi_similarity": (VIOLET, "P"),
}
DIGITS = ("#0867ad", "#c24a00", "#00785b", "#a8417f", "#876200", "#6546b5", "#2aa5c0", "#d9587a", "#6c7a1f", "#7c5543")
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same letters everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelsize": 9,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "text.color": INK,
    "figure.facecolor": PAPER,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "dml",
    "axes.unicode_minus": True,
    "figure.constrained_layout.h_pad": 0.08,
}


@contextmanager
def applied() -> Iterator[None]:
    """The settings, for the figures made within."""
    with mpl.rc_context(SETTINGS):
        yield


def policy(positives: str) -> tuple[str, str]:
    """The colour and the marker of a positive policy; the ink's for a loss that chooses no tuples."""
    return POLICIES.get(positives, (INK, "o"))


def colour(index: int) -> str:
    """The colour of the index-th of several things that are no policies."""
    return DIGITS[index % len(DIGITS)]


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], x: float, gap: float = 0.085) -> None:
    """Write labels at the right ends of lines, moved apart where they would meet.

    Parameters
    ----------
    ends : for each line its last y in data units, its text and its colour.
    x : where the lines end, in data units.
    gap : the least distance between two labels, as a share of the axes' height.
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


def save(figure: Figure, stem: Path, png: bool = False) -> tuple[float, float]:
    """Write `<stem>.svg`, `<stem>-dark.svg` and, if asked for, `<stem>.png`; returns width and height in points."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not for each file again
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    light = buffer.getvalue()
    dark = light
    for ours, theirs in DARK.items():
        dark = dark.replace(ours, theirs)
    stem.with_suffix(".svg").write_text(light, encoding="utf-8")
    stem.with_name(f"{stem.name}-dark.svg").write_text(dark, encoding="utf-8")
    if png:
        figure.savefig(stem.with_suffix(".png"), dpi=200, metadata={"Software": None})
    width, height = figure.get_size_inches()
    return 72 * float(width), 72 * float(height)
