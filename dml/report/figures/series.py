"""Lines and points in panels: they are drawn, and the same numbers are the figure's table, its CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes


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

    Parameters
    ----------
    title : as `Axes.set_title` takes it.

    Returns
    -------
    One row per point: panel, series, x and y.
    """
    for axes, panel in zip(panels, dict.fromkeys(each.panel for each in series), strict=True):
        axes.set_title(panel, **title)
        for own in [each for each in series if each.panel == panel]:
            axes.plot(own.frame["x"], own.frame["y"], own.look, **own.more)
    return pd.concat([each.frame for each in series], ignore_index=True)
