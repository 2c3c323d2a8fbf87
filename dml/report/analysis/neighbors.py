"""The nearest neighbours of random queries, under the rules of the evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
