"""The nearest images of queries."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from dml.cli.vectors import Embedded


class Neighbour(NamedTuple):
    """An image that was found."""

    path: Path
    distance: float  # Euclidean, between the vectors


class Found(NamedTuple):
    """A query and its nearest images, the nearest first."""

    query: Path
    neighbours: list[Neighbour]


def nearest(queries: Embedded, gallery: Embedded, count: int) -> list[Found]:
    """The `count` nearest images of each query. The query's own file is left out; ties are in the gallery's order."""
    own = {path.resolve(): row for row, path in enumerate(gallery.paths)}
    found = []
    for path, vector in zip(queries.paths, queries.vectors, strict=True):
        distances = np.linalg.norm(gallery.vectors.astype(np.float64) - vector, axis=1)
        if path.resolve() in own:
            distances[own[path.resolve()]] = np.inf
        order = np.argsort(distances, kind="stable")[:count]
        rows = [row for row in order if np.isfinite(distances[row])]
        found.append(Found(path, [Neighbour(gallery.paths[row], float(distances[row])) for row in rows]))
    return found
