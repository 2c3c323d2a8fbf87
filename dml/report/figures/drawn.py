"""The numbers that a figure draws, read back from it: the CSV file of a figure whose section gives no frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

CONTOUR = 40  # points of a contour line, at most
COLUMNS = ("panel", "series", "x", "y", "low", "high")


def drawn(figure: Figure) -> pd.DataFrame:
    """One row per point, bar or step: panel, series, x, y, and the low and high end of a band at x.

    A panel is named by its title, and a series by its label, or by the text of its colour in a legend or at its end.
    """
    rows: list[dict[str, Any]] = []
    for number, axes in enumerate(figure.axes):
        if axes.axison or axes.lines:
            panel = axes.get_title("left") or axes.get_title() or (f"{number + 1}" if len(figure.axes) > 1 else "")
            rows += [{"panel": " ".join(panel.split())} | row for row in _rows(figure, axes)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.dropna(axis="columns", how="all") if len(frame) else frame


def _rows(figure: Figure, axes: Axes) -> Iterator[dict[str, Any]]:
    names = _names(figure, axes)
    bands = [band for band in map(_band, axes.collections) if band]
    for line in axes.lines:
        x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
        if line.get_transform().contains_branch(axes.transData) and not _is_mark(line, axes) and np.size(x):
            colour = to_hex(line.get_color())
            band = next((ends for shade, ends in bands if shade == colour and set(ends) >= set(_plain(x))), {})
            for a, b in zip(_plain(x), _plain(y), strict=True):
                low, high = band.get(a, (np.nan, np.nan))
                yield {"series": _label(line, names.get(colour, "")), "x": a, "y": b, "low": low, "high": high}
    for patch in axes.patches:
        colour = to_hex(patch.get_facecolor())
        if isinstance(patch, StepPatch) and not patch.get_fill():
            steps: Any = patch.get_data()
            for a, b in zip(steps.edges[:-1], steps.values, strict=True):
                yield {"series": _label(patch, names.get(to_hex(patch.get_edgecolor()), "")), "x": a, "y": b}
        elif isinstance(patch, Rectangle):
            centre = patch.get_x() + patch.get_width() / 2
            yield {"series": names.get(colour, ""), "x": centre, "y": patch.get_y() + patch.get_height()}
    for collection in axes.collections:
        if isinstance(collection, ContourSet):
            for level, path in zip(collection.levels, collection.get_paths(), strict=False):
                points = np.asarray(path.vertices, dtype=float)
                for a, b in points[:: max(1, -(-len(points) // CONTOUR))]:
                    yield {"series": f"level {level:.4g}", "x": float(a), "y": float(b)}


def _names(figure: Figure, axes: Axes) -> dict[str, str]:
    """What a reader would call each colour: the text at the end of a line, or in a legend."""
    found = {}
    for legend in [*figure.legends, *filter(None, (other.get_legend() for other in figure.axes))]:
        assert isinstance(legend, Legend)
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=False):
            colour = handle.get_color() if isinstance(handle, Line2D) else getattr(handle, "get_facecolor", str)()
            found[_hex(colour)] = text.get_text()
    return found | {to_hex(text.get_color()): text.get_text() for text in axes.texts if text.get_text()}


def _hex(colour: Any) -> str:
    try:
        return to_hex(colour)
    except ValueError:  # several colours, or none
        values = np.atleast_2d(np.asarray(colour, dtype=float)) if np.size(colour) else np.zeros((1, 4))
        return to_hex(values[0])


def _band(collection: Any) -> tuple[str, dict[float, tuple[float, float]]] | None:
    """The colour of what `fill_between` drew, and its two ends at each x."""
    if not isinstance(collection, PolyCollection) or isinstance(collection, ContourSet):
        return None
    ends: dict[float, tuple[float, float]] = {}
    for path in collection.get_paths():
        for x, y in np.asarray(path.vertices, dtype=float):
            low, high = ends.get(float(x), (np.inf, -np.inf))
            ends[float(x)] = (min(low, float(y)), max(high, float(y)))
    return _hex(collection.get_facecolor()), ends


def _label(artist: Any, otherwise: str) -> str:
    label = str(artist.get_label())
    return " ".join((otherwise if label.startswith("_") else label).split())


def _is_mark(line: Line2D, axes: Axes) -> bool:
    """Whether a line is drawn across the panel, as by `axhline`."""
    return line.get_transform() in (axes.get_xaxis_transform(which="grid"), axes.get_yaxis_transform(which="grid"))


def _plain(values: Any) -> list[float]:
    return [float(value) for value in np.ravel(values)]
