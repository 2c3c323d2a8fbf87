"""Saves a figure as a small SVG that is light or dark as the page around it. The same data give the same bytes."""

from __future__ import annotations

import io
import itertools
import re
import string
from collections import Counter
from collections.abc import Iterator
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
MATPLOTLIB = "'DejaVu Sans', sans-serif"
FONTS = "'DejaVu Sans',Verdana,sans-serif"  # the first two have letters of the same widths
SHORTER: tuple[tuple[str, str], ...] = (
    (r"<!--.*?-->", ""),
    (r"<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>", ""),
    (r'<g id="[\w.]+"/>', ""),
    (r'<g id="[\w.]+"', "<g"),
    (r"\s*\n\s*", " "),
    (r"> <", "><"),
    (r' transform="rotate\(-0 [^"]*"', ""),
    (rf"font-family: *{MATPLOTLIB};| text-anchor: start;", ""),
    (r"<g>(<(?:path|use)[^<>]*/>|<text[^<>]*>[^<>]*</text>)</g>", r"\1"),
    (r"<g>(<(?:path|use)[^<>]*/>|<text[^<>]*>[^<>]*</text>)</g>", r"\1"),
)
"""What an SVG of matplotlib has and no reader needs."""
PLACES = re.compile(r' d="[^"]*"| [xy]="[^"]*"|translate\([^)]*\)')
LINES = re.compile(r'<path d="([^"]*)"([^<>]*fill:none[^<>]*)/>(?:<path d="[^"]*"\2/>)+')
STYLES = re.compile(r' style="([^"]*)"')
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DATA = re.compile(r'("data:[^"]*")', re.S)


def save(figure: Figure, stem: Path, png: bool = False) -> tuple[float, float]:
    """Write `<stem>.svg` and, on request, `<stem>.png`; a stem may have dots.

    The SVG's style sheet has the light colours, and replaces each by its dark one where dark pages are preferred.
    Programs that do not know such preferences show the light version.

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
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text.getvalue())
    stem.with_name(f"{stem.name}.svg").write_text(with_dark(smaller(svg)), encoding="utf-8")
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


def smaller(svg: str) -> str:
    """The same drawing in fewer bytes: no comments, no indentation, coordinates in hundredths of a point."""
    parts = DATA.split(svg)  # images stay as they are
    return "".join(part if part.startswith('"data:') else _shortened(part) for part in parts)


def with_dark(svg: str) -> str:
    """The drawing with one style sheet: its fonts, each style once as a class, and the colours on dark pages."""
    counted = Counter(STYLES.findall(svg))
    names = {style: name for (style, _), name in zip(counted.most_common(), _names(), strict=False)}
    rules = f"text{{font-family:{FONTS}}}" + "".join(f".{name}{{{style}}}" for style, name in names.items())
    dark = "".join(f".{name}{{{change}}}" for style, name in names.items() if (change := _on_dark(style)))
    rules += f"@media (prefers-color-scheme:dark){{{dark}}}"
    classed = STYLES.sub(lambda style: f' class="{names[style[1]]}"', svg)
    return classed.replace("</style>", rules + "</style>", 1)


def _names() -> Iterator[str]:
    """a, b, ..., Z, aa, ab, ..."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_letters, repeat=length))


def _on_dark(style: str) -> str:
    """Those of a style's declarations that dark pages change, with their dark colours."""
    found = re.findall(r"(?:^|;)((?:fill|stroke):)(#[0-9a-f]{6})(?![^;])", style)
    return ";".join(what + DARK[light] for what, light in found if light in DARK)


def _shortened(text: str) -> str:
    for pattern, replacement in SHORTER:
        text = re.sub(pattern, replacement, text, flags=re.S)
    text = STYLES.sub(lambda style: re.sub(r"(?<=[:;]) +", "", style[0]), text)
    return LINES.sub(_joined, PLACES.sub(_rounded, text))


def _joined(lines: re.Match[str]) -> str:
    """Lines of one look, drawn one after the other, as one path. Not those whose crossings would change."""
    if "opacity" in lines[2]:
        return lines[0]
    return f'<path d="{"".join(re.findall(r"""<path d="([^"]*)""", lines[0]))}"{lines[2]}/>'


def _rounded(place: re.Match[str]) -> str:
    """`M 1.2345 2 L 3.000001 4` -> `M1.23 2L3 4`."""
    text = re.sub(r"(\.\d\d)\d+", r"\1", place[0])
    text = re.sub(r"\.(\d*[1-9])?0+(?!\d)", lambda found: f".{found[1]}" if found[1] else "", text)
    return re.sub(r"(?<=[\dMLQCz]) ?([MLQCz]) ?(?=[-\d\"z])", r"\1", text)
