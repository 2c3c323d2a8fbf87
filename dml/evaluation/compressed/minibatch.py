"""k-means by mini-batches (Sculley: Web-scale k-means clustering, WWW 2010), then one pass over all rows.

1. Centres start as those of `dml.evaluation.kmeans` of a sample, where that is affordable; otherwise as random rows.
2. Random batches move the nearest centres: each is the mean of all rows that batches have assigned to it.
3. One pass assigns all rows, and moves each centre to the mean of its rows; a second pass assigns them again.

The nearest centre is searched exactly, by products of matrices. An inverted file over the centres is no faster unless
it misses many: among 6,000 it missed a tenth in twice the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dml import files
from dml.evaluation._vectors import Vectors
from dml.evaluation.clustering import Contingency
from dml.evaluation.compressed.plan import STEP
from dml.evaluation.compressed.rows import Rows
from dml.evaluation.kmeans import COLLAPSED, kmeans
from dml.seeding import numpy_generator

STARTED = 1 << 24  # numbers in the sample that is clustered first,
COMPARED = 1 << 32  # or as many rows as have this number of comparisons with all centres,
FEWEST = 4  # but if those are fewer than these for each centre, centres start as random rows
DRAWN = 20  # rows that batches draw for each centre, at most


def first_centres(rows: Rows, k: int, seed: int) -> np.ndarray:
    """Centres to start from, float32 (k, D)."""
    draw = numpy_generator(seed, f"mini-batch k-means {k}")
    count = min(len(rows), STARTED // rows.shape[1], COMPARED // k)
    if count < min(FEWEST * k, len(rows)):
        return rows.read(_some(draw, len(rows), k))
    points = rows.read(_some(draw, len(rows), count))
    sums, counts = _sums(points, kmeans(Vectors(points, rows.normalize), k, seed=seed), k)
    centres = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    _normalise(centres, rows.normalize)
    return centres


def centres_of(rows: Rows, k: int, seed: int, report: Callable[[int, int], None] = lambda done, of: None) -> np.ndarray:
    """Centres after the mini-batches, float32 (k, D)."""
    centres, counts = first_centres(rows, k, seed), np.zeros(k, dtype=np.int64)
    draw = numpy_generator(seed, f"mini-batches {k}")
    batch = min(STEP, 4 * max(k, 1024), len(rows))
    batches = max(1, min(DRAWN * k, len(rows)) // batch)
    for number in range(batches):
        points = rows.read(np.sort(draw.integers(len(rows), size=batch)))
        sums, added = _sums(points, _search(centres)(points), k)
        counts += added
        hit = added > 0
        centres[hit] += ((sums[hit] - added[hit, None] * centres[hit]) / counts[hit, None]).astype(np.float32)
        _normalise(centres, rows.normalize)
        report(number + 1, batches)
    return centres


def assign(rows: Rows, centres: np.ndarray, shard: slice, out: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Assign a shard's rows to their nearest centres, (k, D). Writes the clusters int32 (b,) to `out`.

    Returns
    -------
    The sums of the rows of each cluster, float64 (k, D), and their numbers, int64 (k,); empty arrays with `out`.
    """
    nearest, clusters = _search(centres), []
    sums, counts = np.zeros(centres.shape), np.zeros(len(centres), dtype=np.int64)
    for start in range(shard.start, shard.stop, STEP):
        points = rows.read(slice(start, min(start + STEP, shard.stop)))
        found = nearest(points)
        if out is not None:
            clusters.append(found.astype(np.int32))
            continue
        more, added = _sums(points, found, len(centres))
        sums += more
        counts += added
    if out is None:
        return sums, counts
    with files.replacing(out) as temporary, open(temporary, "wb") as file:
        np.save(file, np.concatenate(clusters))
    return sums[:0], counts[:0]


def moved(centres: np.ndarray, found: Iterable[tuple[np.ndarray, np.ndarray]], normalize: bool) -> np.ndarray:
    """The centres as means of their rows, from what `assign` returned for all shards. Empty ones stay."""
    sums, counts = np.zeros(centres.shape), np.zeros(len(centres), dtype=np.int64)
    for more, added in found:
        sums += more
        counts += added
    out, some = centres.copy(), counts > 0
    out[some] = sums[some] / counts[some, None]
    _normalise(out, normalize)
    return out


def table(codes: np.ndarray, parts: Iterable[np.ndarray]) -> Contingency:
    """The contingency table of classes, codes int32 (n,), and clusters in consecutive parts, int32 (b,) each.

    Memory grows with the cells of the table that are not empty.
    """
    cells, counts, start = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for part in parts:
        own = codes[start : start + len(part)].astype(np.int64) << 32 | part
        start += len(part)
        found, number = np.unique(own, return_counts=True)
        both, where = np.unique(np.concatenate([cells, found]), return_inverse=True)
        counts = np.bincount(where, weights=np.concatenate([counts, number]), minlength=len(both)).astype(np.int64)
        cells = both
    classes, clusters = cells >> 32, cells & 0xFFFFFFFF
    _, rows = np.unique(classes, return_inverse=True)
    _, columns = np.unique(clusters, return_inverse=True)
    sizes = [np.bincount(side, weights=counts).astype(np.int64) for side in (rows, columns)]
    return Contingency(counts, rows, columns, *sizes)


def _search(centres: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A search for the nearest of some centres (k, D): points (b, D) -> int64 (b,)."""
    import faiss

    mean = centres.mean(0)
    collapsed = np.square(centres - mean).sum(1).mean() < COLLAPSED * np.square(mean).sum()
    origin = mean if collapsed else np.float32(0)  # of products that cannot tell centres far from 0 apart
    index: Any = faiss.IndexFlatL2(centres.shape[1])
    index.add(centres - origin)
    return lambda points: index.search(points - origin, 1)[1][:, 0]


def _sums(points: np.ndarray, clusters: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The sums of the points of each cluster, float64 (k, D), and their numbers (k,)."""
    order = np.argsort(clusters, kind="stable")
    counts = np.bincount(clusters, minlength=k)
    some, sums = np.flatnonzero(counts), np.zeros((k, points.shape[1]))
    starts = np.r_[0, counts[some].cumsum()[:-1]]
    sums[some] = np.add.reduceat(points[order].astype(np.float64), starts, axis=0)
    return sums, counts


def _normalise(centres: np.ndarray, normalize: bool) -> None:
    if normalize:
        norms = np.linalg.norm(centres, axis=1, keepdims=True)
        centres /= np.where(norms > 0, norms, 1)


def _some(draw: np.random.Generator, n: int, count: int) -> np.ndarray:
    """`count` random rows of n, ascending, int64: without all n numbers in memory where n is large."""
    if count * 4 >= n:
        return np.sort(draw.permutation(n)[:count])
    found = np.unique(draw.integers(n, size=2 * count))
    return np.sort(draw.permutation(found)[:count])
