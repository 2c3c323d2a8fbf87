"""What each method finds: the nearest neighbours of random queries (figure 3 of Levi et al. 2021).

Queries and their nearest neighbours as pictures.

Figure 3 of Levi et al. 2021; poster of Ustinova & Lempitsky 2016.

The pictures that a snapshot contains: small ones of the few images that its figures show.

Only a source that states `redistributable` gives its pictures to a repository (`dml.protocols.Redistributable`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from dml import discovery
from dml.counting import counted
from dml.data.packing import Packed
from dml.report import figures
from dml.report.analysis.embedded_cells import Shown, level_of, shown, vectors
from dml.report.labels import Texts
from dml.report.page.blocks import Block, Drawing, Paragraph
from dml.report.results import Arrays, Results
from dml.report.sections._rows import absent, asked, named
from dml.training.data import has_queries, open_packed_of

INCH = 0.62  # from one picture to the next
BELOW = 0.42  # of that, more for the label below a picture
GAP = 0.9  # between two blocks, in pictures
RIGHT, WRONG = ("\N{CHECK MARK}", figures.GREEN, "-"), ("\N{BALLOT X}", figures.VERMILION, (0, (2, 1.4)))
LONGEST = 11  # letters of a label
QUERIES, NEIGHBOURS, SEED = 6, 5, 0  # random queries, and images of each


def retrieval_rows(frame: pd.DataFrame, thumbnail: Callable[[int], np.ndarray]) -> Figure:
    """A block for each query, with a row of neighbours for each method; two blocks side by side if they are narrow.

    Parameters
    ----------
    frame : query, query class, method, place (1, 2, ...), image, class, and right: whether it is the query's class.
    thumbnail : the pixels uint8 (h, w, 3) of an image.
    """
    methods, blocks = frame["method"].unique(), list(frame.groupby("query", sort=False))
    titles = [textwrap.fill(method, 18) for method in methods]
    columns = 1 + int(frame["place"].max())
    across = 2 if columns <= 7 and len(blocks) > 1 else 1
    tall, wide = len(methods) * (1 + BELOW) + GAP / 2, columns + GAP
    down = -(-len(blocks) // across)
    margin = 0.3 + max(len(line) for title in titles for line in title.split("\n")) * 0.075 / INCH
    width, height = margin + across * wide - GAP + 0.3, down * tall
    figure = Figure(figsize=(INCH * width, INCH * height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    for place, (query, found) in enumerate(blocks):
        down, right = divmod(place, across)
        x, y = margin + right * wide, down * tall + 0.1
        label = found["query class"].iloc[0]
        _picture(axes, thumbnail(query), label, None, x, y + (len(methods) - 1) * (1 + BELOW) / 2)
        for i, (method, title) in enumerate(zip(methods, titles, strict=True)):
            top = y + i * (1 + BELOW)
            if right == 0:
                look = {"fontsize": 8.5, "color": figures.INK, "weight": "bold"}
                axes.text(margin - 0.15, top + 0.45, title, look, ha="right", va="center")
            for each in found[found["method"] == method].to_dict("records"):
                _picture(axes, thumbnail(each["image"]), each["class"], each["right"], x + 0.15 + each["place"], top)
    return figure


def _picture(axes: Axes, pixels: np.ndarray, name: str, right: bool | None, x: float, y: float) -> None:
    """An image in a cell of size 1, whose upper left corner is at (x, y).

    Parameters
    ----------
    name : of its class.
    right : whether it is of the query's class; None for the query itself.
    """
    height, width = pixels.shape[:2]
    w, h = 0.84 * width / max(height, width), 0.84 * height / max(height, width)
    left, top = x + (0.92 - w) / 2, y + (0.92 - h) / 2
    axes.imshow(pixels, extent=(left, left + w, top + h, top), interpolation="none", aspect="auto")
    sign, colour, dashes = ("", figures.INK, "-") if right is None else RIGHT if right else WRONG
    thick = 1.0 if right is None else 2.0
    axes.add_patch(
        Rectangle((left, top), w, h, fill=False, edgecolor=colour, linestyle=dashes, linewidth=thick, zorder=3)
    )
    name = " ".join(name.split())
    label = name if len(name) <= LONGEST else name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    text = f"{sign} {label}".strip()
    weight = "bold" if right is None else "normal"
    axes.text(x + 0.46, y + 0.95, text, ha="center", va="top", fontsize=7, color=colour, weight=weight)


@dataclass(frozen=True)
class Roles:
    """What each image of a set may be used for. Without queries and a gallery, every image is both."""

    query: np.ndarray  # bool (n,)
    gallery: np.ndarray  # bool (n,)
    cameras: np.ndarray | None = None  # int (n,): images of the query's class and camera do not count


def candidates(labels: np.ndarray, roles: Roles, query: int) -> np.ndarray:
    """bool (n,): the images that a query at row `query` searches."""
    found = roles.gallery.copy()
    found[query] = False
    if roles.cameras is not None:
        found &= (labels != labels[query]) | (roles.cameras != roles.cameras[query])
    return found


def random_queries(labels: np.ndarray, roles: Roles, count: int, seed: int) -> np.ndarray:
    """Rows of at most `count` random queries that could find an image of their class, in ascending order."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(roles.query))
    found: list[int] = []
    for query in order:
        if len(found) == count:
            break
        if (candidates(labels, roles, query) & (labels == labels[query])).any():
            found.append(int(query))
    return np.sort(np.array(found, dtype=np.int64))


def nearest(points: np.ndarray, labels: np.ndarray, roles: Roles, query: int, count: int) -> np.ndarray:
    """Rows of the `count` images nearest to a query by Euclidean distance, nearest first, (count,) or fewer.

    Parameters
    ----------
    points : (n, D) float; of unit length if embeddings are normalised, so that the order is that of cosines.
    """
    rows = np.flatnonzero(candidates(labels, roles, query))
    distances = ((points[rows].astype(np.float64) - points[query]) ** 2).sum(axis=1)
    return rows[np.argsort(distances, kind="stable")[:count]]


SIDE = 64  # pixels of the longer side of a thumbnail, at most


@dataclass(frozen=True)
class Pictures:
    """One dataset's images and what is known of them."""

    packed: Packed
    split: pd.DataFrame

    def matches(self, index: np.ndarray, fine: np.ndarray) -> bool:
        """Whether the images at rows `index` (n,) have these fine labels (n,): not so if others have been packed."""
        known = self.packed.index["fine"].to_numpy()
        return len(index) == 0 or (int(index.max()) < len(known) and bool((known[index] == fine).all()))

    def thumbnail(self, row: int) -> np.ndarray:
        """uint8 (h, w, 3), with at most `SIDE` pixels a side; smaller images keep their size."""
        pixels = np.asarray(self.packed.images[np.array([row])])[0]
        image = Image.fromarray(np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels)
        image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        return np.asarray(image)

    def label(self, row: int, level: str) -> str:
        """The name of an image's class if it has one, else its number."""
        known = self.packed.index
        name = known[f"{level}_name"].iloc[row] if f"{level}_name" in known else None
        return str(name) if isinstance(name, str) and name else str(int(known[level].iloc[row]))

    def roles(self, index: np.ndarray) -> Roles:
        """What the test images at rows `index` (n,) are used for."""
        if not has_queries(self.split):
            every = np.ones(len(index), dtype=bool)
            return Roles(every, every)
        final = self.split.set_index("index").loc[index, "final"].to_numpy()
        return Roles(final == "query", final == "gallery", self.packed.index["camera"].to_numpy()[index])


def open_pictures(results: Results, dataset: str) -> Pictures:
    """The images of one of the study's datasets.

    Raises
    ------
    OSError, ValueError, KeyError : they are not on this machine, or cannot be read.
    """
    root = results.data or Path("data") / results.study.name
    split = pd.read_parquet(root / "split" / f"{dataset}.parquet")
    pictures = Pictures(open_packed_of(root, dataset), split)
    pictures.thumbnail(0)  # files that are decoded during training may be missing
    return pictures


@dataclass(frozen=True)
class Thumbnails:
    """Some of a dataset's images, as `Pictures` shows them."""

    rows: np.ndarray  # int (n,), ascending: rows of the packed array
    pixels: np.ndarray  # uint8 (n, h, w, 3)
    names: np.ndarray  # str (n,): of the classes

    def thumbnail(self, row: int) -> np.ndarray:
        """uint8 (h, w, 3)."""
        return self.pixels[self._place(row)]

    def label(self, row: int, level: str) -> str:
        """The name of an image's class, at the level by which the study is measured."""
        return str(self.names[self._place(row)])

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self.rows, row))


def redistributable(results: Results, dataset: str) -> bool:
    """Whether the pictures of one of the study's datasets may be published with results."""
    source = discovery.find("dml.data.sources", results.study.dataset(dataset).name)
    return bool(getattr(source, "redistributable", False))


def record_pictures(results: Results, dataset: str, pictures: Pictures, rows: np.ndarray, level: str) -> None:
    """Add the images at rows (n,), ascending, to what a publication keeps, if they may be published."""
    if not redistributable(results, dataset) or not len(rows):
        return

    def compute() -> Arrays:
        return {
            "rows": rows.astype(np.int32),
            "thumbnails": np.stack([pictures.thumbnail(int(row)) for row in rows]),
            "names": np.array([pictures.label(int(row), level) for row in rows]),
        }

    results.figures.of("pictures", "all", dataset, compute)


def snapshot_pictures(results: Results, dataset: str) -> Thumbnails | None:
    """The pictures of a dataset in the study's snapshot; None if it has none."""
    found = results.figures.of("pictures", "all", dataset, dict)
    return Thumbnails(found["rows"], found["thumbnails"], found["names"]) if found else None


say = Texts(__file__)

MOST = 4  # methods


class Retrieval:
    """Rows of pictures."""

    anchor, title = "retrieval", "What is found"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "retrieval")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset, or why there is none."""
        found = shown(results, "retrieval", MOST)
        if not found:
            yield absent()
        for each in found:
            yield _block(results, each)


def _block(results: Results, of: Shown) -> Block:
    if results.figures.snapshot is not None:
        thumbnails = snapshot_pictures(results, of.dataset)
        if thumbnails is None:
            return Paragraph(say("unpublished", dataset=of.dataset))
        searched = {key: results.figures.of(*_place(key), dict) for key in of.keys.values()}
        return _drawing(results, of, thumbnails, searched)
    try:
        pictures = open_pictures(results, of.dataset)
    except (OSError, KeyError, ValueError):
        return Paragraph(say("elsewhere", dataset=of.dataset))
    for key in of.keys.values():
        content = results.embeddings(key)
        rows = content["set"] == "test"
        if "index" not in content:
            return Paragraph(say("unnumbered"))
        if not pictures.matches(content["index"][rows], content["labels_fine"][rows]):
            return Paragraph(say("other", dataset=of.dataset))
    queries = _queries(results, of, pictures)
    searched = {
        key: results.figures.of(*_place(key), partial(_neighbours, results, name, key, pictures, queries))
        for name, key in of.keys.items()
    }
    rows = np.unique(np.concatenate([array.ravel() for found in searched.values() for array in _images(found)]))
    record_pictures(results, of.dataset, pictures, rows[rows >= 0], level_of(results, of.dataset))
    return _drawing(results, of, pictures, searched)


def _place(key: str) -> tuple[str, str, str]:
    return "retrieval", key, "test"


def _images(found: Arrays) -> tuple[np.ndarray, np.ndarray]:
    return found["queries"], found["near"]


def _tested(results: Results, dataset: str, key: str) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """What a trial kept; of its test images, their rows in the packed array and their labels."""
    content = results.embeddings(key)
    rows = content["set"] == "test"
    return content, content["index"][rows], content[f"labels_{level_of(results, dataset)}"][rows]


def _queries(results: Results, of: Shown, pictures: Pictures) -> np.ndarray:
    """The rows (q,) of random queries in the packed array."""
    _, index, labels = _tested(results, of.dataset, next(iter(of.keys.values())))
    return index[random_queries(labels, pictures.roles(index), QUERIES, SEED)]


def _neighbours(results: Results, name: str, key: str, pictures: Pictures, queries: np.ndarray) -> Arrays:
    """`queries` (q,) and `near` (q, k), rows of the packed array, -1 for none; `right` (q, k): of the query's class."""
    content, index, labels = _tested(results, results.cells[name].dataset, key)
    roles, points = pictures.roles(index), vectors(results, name, content)[content["set"] == "test"]
    near = np.full((len(queries), NEIGHBOURS), -1, dtype=np.int32)
    right = np.zeros(near.shape, dtype=bool)
    for place, row in enumerate(queries):
        query = int(np.flatnonzero(index == row)[0])
        found = nearest(points, labels, roles, query, near.shape[1])
        near[place, : len(found)], right[place, : len(found)] = index[found], labels[found] == labels[query]
    return {"queries": queries.astype(np.int32), "near": near, "right": right}


def _drawing(results: Results, of: Shown, pictures: Pictures | Thumbnails, searched: Mapping[str, Arrays]) -> Block:
    level = level_of(results, of.dataset)
    rows = []
    for name, key in of.keys.items():
        found, about = searched[key], named(results, of, name, "test")
        for query, near, right in zip(found["queries"], found["near"], found["right"], strict=True):
            about |= {"query": int(query), "query class": pictures.label(int(query), level)}
            for place, (row, same) in enumerate(zip(near[near >= 0], right[near >= 0], strict=True)):
                neighbour = {"image": int(row), "class": pictures.label(int(row), level), "right": bool(same)}
                rows.append(about | {"place": place + 1} | neighbour)
    frame, queries = pd.DataFrame(rows), next(iter(searched.values()))["queries"]
    figure = retrieval_rows(frame, pictures.thumbnail) if rows else None
    shares = frame.groupby("method", sort=False)["right"].mean() if rows else ()
    caption = say(
        "figure",
        images=counted(len(queries), "random image"),
        seed=SEED,
        neighbors=NEIGHBOURS,
        where=of.where,
        shares=", ".join(f"{share:.0%}" for share in shares),
        note=of.note,
    )
    return Drawing(f"retrieval-{of.dataset}", figure, frame, say("alt"), caption)
