"""The nearest images of a few, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CHUNK = 1 << 24  # numbers of the similarities, and of the gallery, that are in memory at a time


def nearest(vectors: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other images by cosine, the nearest first.

    Parameters
    ----------
    vectors : floats (n, D), not copied as a whole.
    rows : int (q,), the images whose neighbours are wanted.
    k : at least 1; images are fewer if there are not as many others.

    Returns
    -------
    int64 (q, k) rows and float32 (q, k) cosines.
    """
    k = min(k, len(vectors) - 1)
    queries = _unit(vectors[rows])
    found = np.zeros((len(rows), 0), dtype=np.int64)
    cosines = np.zeros((len(rows), 0), dtype=np.float32)
    step = max(k + 1, CHUNK // max(1, len(rows), vectors.shape[1]))
    for start in range(0, len(vectors), step):
        block = _unit(vectors[start : start + step])
        places = np.arange(start, start + len(block))
        similar = queries @ block.T
        similar[rows[:, None] == places[None, :]] = -np.inf
        best = np.argpartition(-similar, min(k, len(block)) - 1, axis=1)[:, :k]
        found = np.concatenate([found, places[best]], axis=1)
        cosines = np.concatenate([cosines, np.take_along_axis(similar, best, axis=1)], axis=1)
        order = np.lexsort((found, -cosines), axis=1)[:, :k]
        found, cosines = np.take_along_axis(found, order, axis=1), np.take_along_axis(cosines, order, axis=1)
    return found, cosines


def nearest_by_fold(
    vectors: Sequence[np.ndarray], folds: np.ndarray, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `nearest`, but the neighbours of each image are those in the vectors of its fold.

    Parameters
    ----------
    vectors : of each fold, floats (n, D).
    folds : int64 (n,), the fold of each image.
    """
    k = min(k, len(folds) - 1)
    found, cosines = np.zeros((len(rows), k), dtype=np.int64), np.zeros((len(rows), k), dtype=np.float32)
    for fold, space in enumerate(vectors):
        places = np.flatnonzero(folds[rows] == fold)
        if len(places):
            found[places], cosines[places] = nearest(space, rows[places], k)
    return found, cosines


def _unit(vectors: np.ndarray) -> np.ndarray:
    block = np.asarray(vectors, dtype=np.float32)
    return block / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-12)
