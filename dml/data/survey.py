"""A look at a source's images before they are used: sizes, classes, exact copies, and files that cannot be decoded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.data import splits
from dml.data.packing.decoding import CorruptImage, ImageLike, decode
from dml.data.packing.listing import ProgressLine, corrupt_error, list_images, ordered
from dml.data.sources import left_out
from dml.protocols import Source, VectorSource


@dataclass(frozen=True)
class Survey:
    """What a source's images are like. Rows are in the source's order."""

    index: pd.DataFrame  # `fine`, `fine_name`, `path`, `height`, `width`, ... of each image, as packing lists them
    split: pd.DataFrame  # `final` and `tune`: the role of each image
    corrupt: Mapping[int, str]  # row -> reason
    copies: tuple[tuple[int, ...], ...]  # rows of files with the same content
    grey: bool  # whether all images are grey
    left_out: str = ""  # what to tell the user of files that are not read
    vectors: np.ndarray | None = None  # (n, D), of a source of vectors

    @property
    def noun(self) -> str:
        """What a row is."""
        return "image" if self.vectors is None else "vector"

    @property
    def readable(self) -> pd.DataFrame:
        """The rows of `split` whose images can be decoded."""
        return self.split.drop(index=list(self.corrupt))

    @property
    def mislabelled(self) -> tuple[tuple[int, ...], ...]:
        """The copies of one file that are in several classes."""
        fine = self.index["fine"].to_numpy()
        return tuple(rows for rows in self.copies if len(set(fine[list(rows)])) > 1)

    @property
    def side(self) -> int:
        """Median of the shorter sides of the images, in pixels."""
        return int(np.median(self.index.loc[self.index["height"] > 0, ["height", "width"]].min(axis=1)))

    @property
    def sizes(self) -> int:
        """The number of different sizes."""
        return len(self.index.loc[self.index["height"] > 0, ["height", "width"]].drop_duplicates())

    @property
    def given_rate(self) -> float | None:
        """The share of wrong labels as given, of the images that train by them; None without such labels."""
        if "final_given" not in self.split:
            return None
        trains = self.readable.index[self.readable["final_given"] == "train"]
        wrong = splits.given_labels(self.index, "fine") != self.index["fine"].to_numpy()
        return float(wrong[trains].mean())

    def per_class(self, *roles: str) -> pd.Series:
        """Images of each class, by its name, smallest first; of some roles only, if any are given."""
        images = self.index[self.split["final"].isin(roles)] if roles else self.index
        names = images["fine_name"].where(images["fine_name"] != "", images["fine"].astype(str))
        return names.value_counts(ascending=True, sort=True)


def survey(
    source: Source, raw: Path, workers: int | None = None, report: Callable[[str], None] = lambda line: None
) -> Survey:
    """Read every image of a source once. Raises DataError, ValueError."""
    workers = workers or os.cpu_count() or 1
    listing = list_images(source, raw, workers, report)
    progress = ProgressLine(f"reading {source.name}", len(listing.index), report)
    corrupt: dict[int, str] = {}
    rows_of: dict[bytes, list[int]] = {}
    vectors = source.vectors(raw) if isinstance(source, VectorSource) else None
    contents: Iterable[tuple[bytes, str]] = (
        ordered(_read, source.images(raw), workers)
        if vectors is None
        else ((hashlib.sha256(vector.tobytes()).digest(), "") for vector in vectors)
    )
    for row, (digest, problem) in enumerate(contents):
        rows_of.setdefault(digest, []).append(row)
        if problem:
            corrupt[row] = problem
        progress(row + 1)
    if len(corrupt) == len(listing.index):
        raise corrupt_error(listing.index, corrupt)
    split = next(iter(splits.by_seed(listing.index, source).values()))
    copies = tuple(tuple(rows) for digest, rows in rows_of.items() if digest and len(rows) > 1)
    return Survey(listing.index, split, corrupt, copies, listing.grey, left_out(source), vectors)


def _read(record: Mapping[str, Any]) -> tuple[bytes, str]:
    """An image's digest (empty if it cannot be decoded), and why it cannot."""
    image: ImageLike = record["image"]
    try:
        content = image.read_bytes() if isinstance(image, Path) else image
        decode(content, channels=3)
    except (CorruptImage, OSError) as error:
        return b"", str(error)
    return hashlib.sha256(content if isinstance(content, bytes) else content.tobytes()).digest(), ""
