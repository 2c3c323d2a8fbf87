"""The page of `dml search`: one HTML file that contains its thumbnails."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from markupsafe import Markup
from PIL import Image

from dml.cli.models import Embedded
from dml.cli.templates import environment
from dml.data.packing.decoding import decode
from dml.files import check_writable


class Neighbour(NamedTuple):
    """An image, or a row of vectors, that was found."""

    path: Path | str
    distance: float  # Euclidean, between the vectors


class Match(NamedTuple):
    """A query and its nearest images, the nearest first."""

    query: Path | str
    neighbours: list[Neighbour]


SAME = 1e-3  # of the length of a vector: a row of this text that is not farther is the query itself


def nearest(queries: Embedded, gallery: Embedded, count: int) -> list[Match]:
    """The `count` nearest images of each query. Its own file or row is left out; ties are in the gallery's order."""
    rows_of: dict[Path | str, list[int]] = {}
    for row, path in enumerate(gallery.paths):
        rows_of.setdefault(path if isinstance(path, str) else path.resolve(), []).append(row)
    matches = []
    for path, vector in zip(queries.paths, queries.vectors, strict=True):
        distances = np.linalg.norm(gallery.vectors.astype(np.float64) - vector, axis=1)
        same = rows_of.get(path if isinstance(path, str) else path.resolve(), [])
        if isinstance(path, str):
            same = [row for row in same if distances[row] <= SAME * np.linalg.norm(vector)][:1]
        distances[same] = np.inf
        order = np.argsort(distances, kind="stable")[:count]
        rows = [row for row in order if np.isfinite(distances[row])]
        matches.append(Match(path, [Neighbour(gallery.paths[row], float(distances[row])) for row in rows]))
    return matches


SIDE = 160  # pixels of the longer side of a thumbnail
QUALITY = 80  # of a JPEG
TITLE = "<title>Nearest images \N{MIDDLE DOT} dml</title>"


def check_page(out: Path, mark: str, command: str) -> None:
    """Raise an error if no page can be written at `out`, or a file is there that is no page of this command."""
    check_writable(out)
    if out.exists() and mark.encode() not in out.read_bytes()[:1000]:
        raise typer.BadParameter(
            f"{out} exists, and is not a page of {command}: choose another name", param_hint="--out"
        )


def search_page(model: str, folder: Path, images: int, matches: Sequence[Match], pictures: bool = True) -> str:
    """The page as HTML."""
    templates = environment()
    templates.filters |= {"thumbnail": thumbnail, "place": lambda path: _place(path, folder)}
    style = resources.files("dml.report.page").joinpath("templates/style.css").read_text(encoding="utf-8")
    return templates.get_template("search.html").render(
        title=Markup(TITLE),
        model=model,
        folder=str(folder),
        images=images,
        matches=matches,
        pictures=pictures,
        css=Markup(style),
    )


def thumbnail(path: Path) -> str:
    """A small JPEG of an image, as a `data:` address."""
    image = decode(path, channels=3)
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    image.save(content, "JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"


def _place(path: Path | str, folder: Path) -> str:
    """A path relative to the folder if it is inside; the text of a row as it is."""
    if isinstance(path, str):
        return path
    place = os.path.relpath(path, folder)
    return str(path) if place.startswith("..") else place
