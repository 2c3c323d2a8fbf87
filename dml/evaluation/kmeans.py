"""k-means over embeddings. With normalised embeddings the clustering is spherical: centres are normalised too.

The start decides what is found. From random points (`random`, which the papers' scripts use) k-means leaves clusters
without a centre however far apart they are, and the score says so of the embedding. `kmeans++` finds such clusters.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation import _search
from dml.evaluation._kmeans_start import exchange, plus_plus
from dml.evaluation._vectors import CHUNK, Vectors
from dml.seeding import derive, generator
from dml.tensors import without_autocast

STARTS = ("kmeans++", "random")
RANDOM_ITERATIONS = 25  # the default of faiss
ITERATIONS = 12  # from k-means++ these give a lower cost than 25 from random points
COLLAPSED = 1e-5  # variance of directions, 1 less their mean cosine, below which they are centred
EXCHANGES = 3  # iterations that may exchange centres,
WORTHWHILE = 0.005  # as long as each replaces this share of them


def check_start(start: str) -> None:
    """Raise a ValueError that lists the choices unless `start` is one of them."""
    if start not in STARTS:
        raise ValueError(f"clustering_start: expected one of {', '.join(STARTS)}, got {start!r}")


@without_autocast
def kmeans(
    vectors: Vectors, k: int, *, start: str = "kmeans++", restarts: int = 1, seed: int = 0, backend: str = "auto"
) -> np.ndarray:
    """Cluster the rows of `vectors` and return the cluster of each, int64 (n,), in 0..k-1.

    All points train the clustering. A cluster that becomes empty takes half of a large one. With at least as many
    clusters as points, each point is its own cluster.

    Parameters
    ----------
    start : `kmeans++`, which both backends compute alike; or `random`, the backend's own.
    restarts : runs from different starts; the one with the lowest cost is returned.

    Raises
    ------
    ValueError : k or restarts below 1, or an unknown start.
    """
    check_start(start)
    if k < 1 or restarts < 1:
        raise ValueError(f"k-means: expected k >= 1 and restarts >= 1, got {k} and {restarts}")
    if k >= len(vectors):
        return np.arange(len(vectors), dtype=np.int64)
    backend = _search.choose(backend, vectors.device)
    if k == 1:
        return np.zeros(len(vectors), dtype=np.int64)
    if start == "random" and backend == "faiss":
        return _faiss(vectors, k, restarts, seed)
    run = _from_random if start == "random" else _from_plus_plus
    runs = [run(vectors, k, generator(seed, f"k-means {k} {index}"), backend) for index in range(restarts)]
    return min(runs, key=lambda result: result[1])[0].cpu().numpy()


def _from_plus_plus(vectors: Vectors, k: int, draw: torch.Generator, backend: str) -> tuple[Tensor, float]:
    """Iterations from k-means++: the cluster of every row, int64 (n,), and the sum of squared distances."""
    points, spherical = _points(vectors)
    start = plus_plus(points, k, draw)
    centres, cluster, exchanges = points[start.rows], start.owner, EXCHANGES
    nearest: Nearest | None = None

    def find(rows: Tensor, centres: Tensor, count: int) -> Nearest:
        search = _search.search(centres, centres.square().sum(1), backend, unit=spherical)
        parts = [search(points[part], count) for part in rows.split(max(1, CHUNK // max(centres.shape)))]
        return Nearest(torch.cat([found for _, found in parts]), torch.cat([distances for distances, _ in parts]))

    for _ in range(ITERATIONS):
        means = _means(points, cluster, k, spherical)
        if nearest is not None and exchanges:
            replaced = exchange(points, means, *nearest, draw)
            exchanges = exchanges - 1 if replaced > WORTHWHILE * k else 0
        moved = (means != centres).any(1)
        if nearest is not None and not moved.any():
            break
        centres = means
        count = 2 if exchanges else 1
        if nearest is None or 2 * moved.sum() > k:
            nearest = find(torch.arange(len(points), device=points.device), centres, count)
        else:
            nearest = _update(nearest, centres, moved, count, find)
        cluster = nearest.found[:, 0]
    assert nearest is not None
    return cluster, float(nearest.distances[:, 0].double().sum())


class Nearest(NamedTuple):
    """The nearest centres of each point, nearest first."""

    found: Tensor  # int64 (n, count)
    distances: Tensor  # float32 (n, count), squared


Find = Callable[[Tensor, Tensor, int], Nearest]  # rows of the points, centres, count -> the nearest of all centres


def _update(before: Nearest, centres: Tensor, moved: Tensor, count: int, find: Find) -> Nearest:
    """The `count` nearest centres of each point after those moved that `moved`, bool (k,), marks.

    A point whose nearest centres did not move is compared only with those that did.
    """
    some = moved.nonzero()[:, 0]
    found, distances = before.found[:, :count].clone(), before.distances[:, :count].clone()
    lost = moved[found].any(1)
    again, others = lost.nonzero()[:, 0], (~lost).nonzero()[:, 0]
    if len(again):
        found[again], distances[again] = find(again, centres, count)
    if len(others):
        new = find(others, centres[some], min(count, len(some)))
        reach, order = torch.cat([distances[others], new.distances], 1).sort(dim=1, stable=True)
        found[others] = torch.cat([found[others], some[new.found]], 1).gather(1, order)[:, :count]
        distances[others] = reach[:, :count]
    return Nearest(found, distances)


def _faiss(vectors: Vectors, k: int, restarts: int, seed: int) -> np.ndarray:
    """k-means of faiss from its random start."""
    import faiss

    rows, spherical = _points(vectors)
    points = rows.cpu().numpy()
    on_gpu = vectors.device.type == "cuda" and hasattr(faiss, "StandardGpuResources")
    model = faiss.Kmeans(
        points.shape[1],
        k,
        niter=RANDOM_ITERATIONS,
        nredo=restarts,
        spherical=spherical,
        seed=derive(seed, f"k-means {k}") % (1 << 31),
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),  # faiss trains on 256 points a cluster by default
        gpu=on_gpu,
    )
    model.train(points)
    return model.index.search(points, 1)[1][:, 0]


def _from_random(vectors: Vectors, k: int, draw: torch.Generator, backend: str) -> tuple[Tensor, float]:
    """Lloyd's iterations from random points: the cluster of every row, int64 (n,), and the sum of squared distances."""
    points, spherical = _points(vectors)
    start = torch.randperm(len(points), generator=draw)[:k]
    centres = points[start.to(points.device)]
    cluster, cost = _assign(points, centres)
    for _ in range(RANDOM_ITERATIONS):
        centres = _means(points, cluster, k, spherical)
        cluster, cost = _assign(points, centres)
    return cluster, cost


class Points(NamedTuple):
    """What is clustered."""

    rows: Tensor  # float32 (n, D)
    spherical: bool  # centres are normalised


def _points(vectors: Vectors) -> Points:
    """The points, divided by a power of two if float32 cannot represent their squares.

    Float32 products cannot tell nearly equal directions apart. They are clustered as points around their mean: the
    sphere is flat there.
    """
    points, spherical = vectors.working, vectors.normalize
    if spherical and 1 - float(vectors.mean.square().sum()) < COLLAPSED:
        points, spherical = vectors.centred(), False
    largest = float(points.abs().max())
    if not (1e-12 < largest < 1e12 or largest == 0):
        points = points / 2.0 ** round(np.log2(largest))
    return Points(points, spherical)


def _assign(points: Tensor, centres: Tensor) -> tuple[Tensor, float]:
    squares = centres.square().sum(1)
    found, cost = [], 0.0
    for part in points.split(max(1, CHUNK // len(centres))):
        nearest = torch.addmm(squares, part, centres.T, alpha=-2.0).min(1)
        found.append(nearest.indices)
        cost += float(nearest.values.double().sum())
    return torch.cat(found), cost


def _means(points: Tensor, cluster: Tensor, k: int, spherical: bool) -> Tensor:
    """The mean of each cluster, (k, D). An empty cluster takes half of the largest, by a small push as in faiss."""
    sizes = cluster.bincount(minlength=k)
    if points.device.type == "cpu":
        sums = torch.zeros(k, points.shape[1]).index_add_(0, cluster, points)
    else:  # where `index_add_` adds in any order
        sums = torch.segment_reduce(points[cluster.argsort(stable=True)], "sum", lengths=sizes, axis=0)
    centres = sums / sizes.clamp(min=1)[:, None]
    push = torch.ones_like(centres[0]) / 1024
    push[::2] *= -1
    heap = [(-size, cluster) for cluster, size in enumerate(sizes.tolist())]
    heapq.heapify(heap)
    for empty in (sizes == 0).nonzero()[:, 0].tolist():
        size, largest = heap[0]
        centres[empty] = centres[largest] * (1 + push)
        centres[largest] = centres[largest] * (1 - push)
        half = -size // 2
        heapq.heapreplace(heap, (size + half, largest))
        heapq.heappush(heap, (-half, empty))
    return torch.nn.functional.normalize(centres) if spherical else centres
