"""The pictures that a snapshot contains: small ones of the few images that its figures show.

Only a source that states `redistributable` gives its pictures to a repository (`dml.protocols.Redistributable`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dml import discovery
from dml.report.figure_data import Arrays
from dml.report.pictures import Pictures
from dml.report.results import Results


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
