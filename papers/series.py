"""Named lines and points of figures, each written to the table beside the figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

GAP = 0.085  # between two labels at the ends of lines, as a share of the height


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], x: float) -> None:
    """Write labels at the right ends of lines, raised where they would overlap.

    Parameters
    ----------
    ends : for each line its last y in data units, its text and its colour.
    x : where the lines end, in data units.
    """
    low, high = axes.get_ylim()
    place = low
    for y, text, shade in sorted(ends):
        place = max(y, place + GAP * (high - low))
        font: dict[str, Any] = {"color": shade, "fontsize": 8.5, "fontweight": "bold", "va": "center"}
        at: dict[str, Any] = {"xytext": (7, 0), "textcoords": "offset points"}
        label = axes.annotate(text, (x, place), annotation_clip=False, **at, **font)
        label.set_in_layout(False)


class Series:
    """Points (n,), or one point, with a name.

    Parameters
    ----------
    panel : its title.
    look, more : as `Axes.plot` takes them. The label is the name unless there is one.
    """

    def __init__(self, panel: str, name: str, x: Any, y: Any, look: Any = "-", **more: Any) -> None:
        self.panel, self.look, self.more = panel, look, {"label": name} | more
        self.frame = pd.DataFrame({"panel": panel, "series": name, "x": np.atleast_1d(x), "y": np.atleast_1d(y)})


def draw(panels: Iterable[Axes], series: Sequence[Series], **title: Any) -> pd.DataFrame:
    """Draw the panels in the order of their first series, each with its title.

    Returns
    -------
    One row per point: panel, series, x and y.
    """
    for axes, panel in zip(panels, dict.fromkeys(each.panel for each in series), strict=True):
        axes.set_title(panel, **title)
        for line in [each for each in series if each.panel == panel]:
            axes.plot(line.frame["x"], line.frame["y"], line.look, **line.more)
    return pd.concat([each.frame for each in series], ignore_index=True)
