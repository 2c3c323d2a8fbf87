"""How figures look. The colours can be told apart under the common forms of colour blindness (Okabe and Ito 2008)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

OLIVE, BROWN = "#6c7a1f", "#7c5543"
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
    OLIVE: "#b5c455",
    BROWN: "#c99a82",
}
THREE = (VERMILION, PURPLE, BLUE)  # for three curves of a family
LOOKS = (
    *((VERMILION, "s"), (BLUE, "o"), (GREEN, "^"), (PURPLE, "D"), (OCHRE, "v"), (VIOLET, "P")),
    *(("#2aa5c0", "X"), ("#d9587a", "<"), (OLIVE, ">"), (BROWN, "*")),
)
"""Colours with markers, for the choices of positives in the order of the study."""
CLASSES = (BLUE, VERMILION, GREEN, PURPLE, OCHRE, VIOLET, *(colour for colour, _ in LOOKS[6:]))
"""Colours for classes of images."""
LETTER = 0.071  # inches of a letter of 9 points, rather more than less
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # part of matplotlib, so figures are the same on every machine
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
    "svg.fonttype": "none",  # `saving` names fonts of the same widths, for machines without this one
    "svg.hashsalt": "dml",
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "text.parse_math": False,  # names are a user's, and a dollar sign begins no formula (`saving` has the exception)
    "text.usetex": False,
    "figure.constrained_layout.h_pad": 0.08,
}


@contextmanager
def applied() -> Iterator[None]:
    """Apply the settings to the figures that are made inside the block."""
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)  # a browser has another font
        yield


def look(index: int | None) -> tuple[str, str]:
    """The colour and marker of the index-th choice; those of a loss without a choice for None.

    Colours repeat after so many choices, each time with other markers.
    """
    if index is None:
        return INK, "o"
    turn, place = divmod(index, len(LOOKS))
    return LOOKS[place][0], LOOKS[(place + turn) % len(LOOKS)][1]
