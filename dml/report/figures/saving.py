"""Saves a figure in a light and a dark version. The same data give the same bytes."""

from __future__ import annotations

import io
import re
from pathlib import Path

from matplotlib.figure import Figure

from dml.report.figures.style import DARK


def save(figure: Figure, stem: Path, png: bool = False) -> tuple[float, float]:
    """Write `<stem>.svg`, `<stem>-dark.svg` and, on request, `<stem>.png`.

    Returns
    -------
    Width and height in points.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # otherwise each file would repeat the layout
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    light = buffer.getvalue()
    dark = re.sub("|".join(DARK), lambda match: DARK[match.group()], light)
    stem.with_suffix(".svg").write_text(light, encoding="utf-8")
    stem.with_name(f"{stem.name}-dark.svg").write_text(dark, encoding="utf-8")
    if png:
        figure.savefig(stem.with_suffix(".png"), dpi=200, metadata={"Software": None})
    width, height = figure.get_size_inches()
    return 72 * float(width), 72 * float(height)
