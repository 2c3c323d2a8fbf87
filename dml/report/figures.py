"""How figures look. The colours can be told apart under the common forms of colour blindness (Okabe and Ito 2008)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

from dml.report.labels import Texts, readable
from dml.report.methods import Method
from dml.report.results import Results

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


def colour_and_marker(index: int | None) -> tuple[str, str]:
    """The colour and marker of the index-th choice; those of a loss without a choice for None.

    Colours repeat after so many choices, each time with other markers.
    """
    if index is None:
        return INK, "o"
    turn, place = divmod(index, len(LOOKS))
    return LOOKS[place][0], LOOKS[(place + turn) % len(LOOKS)][1]


MOST_DIGITS = 9


class PercentTicks(Formatter):
    """Writes ticks as percentages, with as many decimals as they need to differ and to be right.

    Parameters
    ----------
    one : the value that is written as 100%.
    """

    def __init__(self, one: float) -> None:
        self._one = one

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
    """The axes (rows, columns) of so many panels; the places that are left in the last row stay empty."""
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat[number:]:
        axes.set_axis_off()
    for axes in grid.flat[max(0, number - columns) : number]:  # the lowest panel of each column
        axes.tick_params(labelbottom=True)
    return grid


def legend(figure: Figure, lines: Mapping[str, tuple[str, str, str]]) -> None:
    """A legend above the panels, if there are several lines: colour, marker and dashes by label."""
    axes = figure.axes[0]
    handles = [axes.plot([], [], dash, color=c, marker=m, label=label)[0] for label, (c, m, dash) in lines.items()]
    columns = max(1, int(figure.get_size_inches()[0] / (0.5 + 0.068 * max(map(len, lines)))))
    if len(handles) > 1:
        figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5)


DASHES = ("-", "--", ":", "-.")


def look(results: Results, method: Method) -> tuple[str, str]:
    """The colour and marker of a method's positives, which depend on their order in the study only."""
    choices = [p for p in dict.fromkeys(m.positives for m in results.methods.values()) if p]
    return colour_and_marker(choices.index(method.positives) if method.positives else None)


def dash(results: Results, method: Method) -> str:
    """The line style of a method's negatives."""
    choices = list(dict.fromkeys(m.negatives for m in results.methods.values()))
    return DASHES[choices.index(method.negatives) % len(DASHES)]


def filter_dash(results: Results, method: Method) -> str:
    """The line style of a method's filter; without one the line is solid."""
    choices = list(dict.fromkeys(["", *(m.filter for m in results.methods.values())]))
    return DASHES[choices.index(method.filter) % len(DASHES)]


def positives_label(method: Method) -> str:
    """`easy positives`, for a legend."""
    return f"{readable(method.positives)} positives" if method.positives else "no choice of positives"


def negatives_label(method: Method) -> str:
    """`hard negatives`, for a legend; without a choice of positives, the miner or `all pairs`; else ""."""
    return readable(method.negatives) + (" negatives" if method.positives else "")


def short_label(results: Results, method: Method) -> str:
    """A method without what all methods of the study share: `triplet, easy positives`."""
    texts = {
        "loss": readable(method.loss),
        "positives": positives_label(method) if method.positives else "",
        "negatives": negatives_label(method),
    }
    several = [axis for axis in texts if len({getattr(m, axis) for m in results.methods.values()}) > 1]
    return ", ".join(filter(None, (*(texts[axis] for axis in several), method.variant))) or method.label


say = Texts(__file__)

MANY = 40  # methods; of more, figures draw only the best
BEST = 8  # of them


def drawn_cells(results: Results, names: Sequence[str], key: str, bare: bool = False) -> tuple[list[str], str]:
    """The cells that a figure draws, and what its caption adds if it leaves out those of the lowest mean scores."""
    means: dict[Method, list[float]] = {}
    methods = {name: results.methods[name].bare if bare else results.methods[name] for name in names}
    for name, method in methods.items():
        means.setdefault(method, []).extend(results.values(name, key))
    if len(means) <= MANY:
        return list(names), ""
    scored = [method for method, scores in means.items() if scores]
    best = sorted(scored, key=lambda method: -float(np.mean(means[method])))[:BEST]
    return [name for name in names if methods[name] in best], " " + say("only", number=len(best))
