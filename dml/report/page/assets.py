"""Saves the figures and CSV files of a page's blocks below the site's root."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext
from PIL import Image

from dml.report.figures import DARK
from dml.report.page import blocks
from dml.report.page.blocks import Block, Column, Drawing, TableCell, csv_text

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
    _with_powers(figure)
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)  # otherwise each file would repeat the layout, or ("none") draw twice
        _with_powers(figure)  # there may be more ticks
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text.getvalue())
    stem.with_name(f"{stem.name}.svg").write_text(svg.replace("</style>", _rules() + "</style>", 1), encoding="utf-8")
    if png:
        _save_png(figure, stem.with_name(f"{stem.name}.png"))
    width, height = figure.get_size_inches()
    return 72 * float(width), 72 * float(height)


def _with_powers(figure: Figure) -> None:
    """Let the ticks of logarithmic axes, which are no names, be formulas: powers."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
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


@dataclass(frozen=True)
class SavedDrawing:
    """A drawing's files, as paths from the site's root."""

    kind: ClassVar[str] = "image"
    svg: str  # light or dark, as the page around it
    png: str  # "": none
    csv: str
    width: int  # points
    height: int
    alt: str
    caption: str


@dataclass(frozen=True)
class SavedTable:
    """A table's body, and its CSV file as a path from the site's root."""

    kind: ClassVar[str] = "table"
    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: list[list[TableCell]]
    href: str


@dataclass(frozen=True)
class SavedDownload:
    """A link to a CSV file."""

    kind: ClassVar[str] = "download"
    href: str
    link: str
    text: str


SavedBlock = blocks.WithoutFiles | SavedDrawing | SavedTable | SavedDownload


UNSAFE = re.compile(r"[^\w.-]+")  # in a file's name: studies name noises, datasets and settings as they like
LONGEST = 150  # bytes of a file's name


class Assets:
    """Saves the blocks of one page."""

    def __init__(self, root: Path, page: str) -> None:
        self._root, self._page = root, page
        self._used: Counter[str] = Counter()

    def save(self, blocks: Iterable[Block | None]) -> list[SavedBlock]:
        """Write each block's files. None, and blocks with nothing to show, are left out."""
        return [saved for block in blocks if (saved := self._save(block)) is not None]

    def _save(self, block: Block | None) -> SavedBlock | None:
        match block:
            case Drawing():
                return self._drawing(block)
            case blocks.Table():
                href = self._csv(block.name, csv_text(block.frame))
                name = Path(href).name.removesuffix(".csv")
                return SavedTable(name, block.title, block.text, block.columns, blocks.rows(block), href)
            case blocks.Download():
                text = csv_text(block.frame)
                return SavedDownload(self._csv(block.name, text), block.link, block.text)
            case blocks.Folded():
                inside = tuple(self.save(block.blocks))
                return replace(block, blocks=inside) if inside else None
            case blocks.Findings() | blocks.Facts() | blocks.ClaimList():
                return block if block.items else None
        return block

    def _drawing(self, drawing: Drawing) -> SavedDrawing | None:
        if drawing.figure is None:
            return None
        path = self._path("figures", drawing.name)
        csv = self._csv(f"figure-{drawing.name}", csv_text(drawing.data))
        width, height = save(drawing.figure, self._root / path, drawing.png)
        png = f"{path}.png" if drawing.png else ""
        return SavedDrawing(f"{path}.svg", png, csv, round(width), round(height), drawing.alt, drawing.caption)

    def _path(self, folder: str, name: str) -> str:
        """A path from the site's root, without its ending, that no other block has; upper and lower case are one."""
        safe = UNSAFE.sub("-", name).encode()[:LONGEST].decode(errors="ignore")
        path = f"{folder}/{self._page}/{safe}"
        self._used[path.casefold()] += 1
        count = self._used[path.casefold()]
        return path if count == 1 else f"{path}~{count}"

    def _csv(self, name: str, text: str) -> str:
        href = f"{self._path('data', name)}.csv"
        path = self._root / href
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return href
