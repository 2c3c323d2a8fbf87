"""The images of a dataset, by the row numbers that kept embeddings carry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from dml.data.packing import Packed
from dml.report.analysis.neighbors import Roles
from dml.report.results import Results
from dml.training.data import has_queries, open_packed_of

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
