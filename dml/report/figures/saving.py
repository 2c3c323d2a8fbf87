"""Saves a figure as an SVG that is light or dark as the page around it. The same data give the same bytes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext
from PIL import Image

from dml.report.figures.style import DARK

DPI = 130
COLOURS = 256
FONTS = "'DejaVu Sans',Verdana,sans-serif"  # the first two have letters of the same widths
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save(figure: Figure, stem: Path, png: bool = False) -> tuple[float, float]:
    """Write `<stem>.svg` and, on request, `<stem>.png`; a stem may have dots.

    The SVG's style sheet replaces each colour by its dark one where dark pages are preferred. Programs that do not know
    such preferences show the light version.

    Returns
    -------
    Width and height in points.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    layout = figure.get_layout_engine()
    for axes in figure.axes:
        _placed(axes)
        _with_powers(axes)
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)  # otherwise each file would repeat the layout, or ("none") draw twice
        for axes in figure.axes:
            _with_powers(axes)  # there may be more ticks
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text.getvalue())
    stem.with_name(f"{stem.name}.svg").write_text(svg.replace("</style>", _rules() + "</style>", 1), encoding="utf-8")
    if png:
        _save_png(figure, stem.with_name(f"{stem.name}.png"))
    width, height = figure.get_size_inches()
    return 72 * float(width), 72 * float(height)


def _placed(axes: Axes) -> None:
    """Fix the places of the title and of empty labels: to find them, matplotlib would measure all ticks once more."""
    if axes.xaxis.get_ticks_position() == "bottom":
        axes.set_title("", loc="right", y=1.0)  # the figures' titles are at the left; this fixes all three
    for axis in (axes.xaxis, axes.yaxis):
        if not axis.label.get_text():
            axis.set_label_coords(0, 0)


def _with_powers(axes: Axes) -> None:
    """Let the ticks of logarithmic axes, which are no names, be formulas: powers."""
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            for label in axis.get_ticklabels(which="both"):
                label.set_parse_math(True)


def _save_png(figure: Figure, path: Path) -> None:
    """In 256 colours of an octree, which takes a sixth of the time of Pillow's default."""
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path)


def _rules() -> str:
    """The fonts, and the colours on dark pages, which take the place of those in the elements' styles."""
    dark = "".join(
        f'[style*="{what}: {light}"]{{{what}:{colour}!important}}'
        for light, colour in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"text{{font-family:{FONTS}!important}}@media (prefers-color-scheme:dark){{{dark}}}"
