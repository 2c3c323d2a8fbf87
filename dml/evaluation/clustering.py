"""k-means over embeddings, and the table of classes against clusters that NMI, AMI and F1 are computed from.

With normalised embeddings the clustering is spherical (centres are normalised, the nearest is the one of the largest
cosine). All points train it; faiss by default looks at 256 a cluster. A cluster that runs empty takes half of a large
one. As many clusters as points, or more: every point is its own, and nothing is computed.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation import _search
from dml.evaluation._vectors import CHUNK, Vectors
from dml.seeding import derive, generator

ITERATIONS = 25  # faiss's own


def kmeans(vectors: Vectors, k: int, *, restarts: int = 1, seed: int = 0, backend: str = "auto") -> np.ndarray:
    """The cluster of every row, int64 (n,), in 0..k-1. The best of `restarts` runs.

    Raises
    ------
    ValueError : k or restarts below 1.
    """
    if k < 1 or restarts < 1:
        raise ValueError(f"k-means: expected k >= 1 and restarts >= 1, got {k} and {restarts}")
    if k >= len(vectors):
        return np.arange(len(vectors), dtype=np.int64)
    if _search.choose(backend, vectors.device) == "faiss":
        return _faiss(vectors, k, restarts, seed)
    runs = [_lloyd(vectors, k, generator(seed, f"k-means {k} {run}")) for run in range(restarts)]
    return min(runs, key=lambda run: run[1])[0].cpu().numpy()


def _faiss(vectors: Vectors, k: int, restarts: int, seed: int) -> np.ndarray:
    import faiss

    points = _in_range(vectors).cpu().numpy()
    on_gpu = vectors.device.type == "cuda" and hasattr(faiss, "StandardGpuResources")
    model = faiss.Kmeans(
        points.shape[1],
        k,
        niter=ITERATIONS,
        nredo=restarts,
        spherical=vectors.normalize,
        seed=derive(seed, f"k-means {k}") % (1 << 31),
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
        gpu=on_gpu,
    )
    model.train(points)
    return model.index.search(points, 1)[1][:, 0]


def _lloyd(vectors: Vectors, k: int, draw: torch.Generator) -> tuple[Tensor, float]:
    """Lloyd's iterations in torch: the cluster of every row, int64 (n,), and the sum of squared distances."""
    points = _in_range(vectors)
    start = torch.randperm(len(points), generator=draw)[:k]
    centres = points[start.to(points.device)]
    cluster, cost = _assign(points, centres)
    for _ in range(ITERATIONS):
        centres = _centres(points, cluster, k, vectors.normalize)
        cluster, cost = _assign(points, centres)
    return cluster, cost


def _in_range(vectors: Vectors) -> Tensor:
    """The points, float32 (n, D), divided by a power of two where their squares would be beyond float32."""
    largest = float(vectors.working.abs().max())
    if 1e-12 < largest < 1e12 or largest == 0:
        return vectors.working
    return vectors.working / 2.0 ** round(np.log2(largest))


def _assign(points: Tensor, centres: Tensor) -> tuple[Tensor, float]:
    squares = centres.square().sum(1)
    found, cost = [], 0.0
    for part in points.split(max(1, CHUNK // len(centres))):
        nearest = torch.addmm(squares, part, centres.T, alpha=-2.0).min(1)
        found.append(nearest.indices)
        cost += float(nearest.values.double().sum())
    return torch.cat(found), cost


def _centres(points: Tensor, cluster: Tensor, k: int, spherical: bool) -> Tensor:
    """The means, (k, D); an empty cluster takes half of the largest, by a small symmetric push as in faiss."""
    order = cluster.argsort(stable=True)
    sizes = cluster.bincount(minlength=k)
    sums = torch.segment_reduce(points[order], "sum", lengths=sizes, axis=0)
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


class Contingency(NamedTuple):
    """Classes against clusters, without the empty cells."""

    counts: np.ndarray  # int64 (c,): samples in each cell that holds any
    rows: np.ndarray  # int64 (c,): its class
    columns: np.ndarray  # int64 (c,): its cluster
    classes: np.ndarray  # int64 (C,): samples in each class
    clusters: np.ndarray  # int64 (K,): samples in each cluster that holds any


def contingency(labels: np.ndarray, clusters: np.ndarray) -> Contingency:
    """The table of two partitions, int64 (n,) each."""
    _, rows, classes = np.unique(labels, return_inverse=True, return_counts=True)
    _, columns, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    cells, counts = np.unique(rows.reshape(-1) * len(sizes) + columns.reshape(-1), return_counts=True)
    return Contingency(counts, cells // len(sizes), cells % len(sizes), classes, sizes)


def entropy(sizes: np.ndarray) -> float:
    """Of a partition with parts of these sizes, in nats."""
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def mutual_information(table: Contingency) -> float:
    """In nats, at least 0."""
    n = table.counts.sum()
    ratio = np.log(table.counts) + np.log(n) - np.log(table.classes[table.rows]) - np.log(table.clusters[table.columns])
    return max(0.0, float((table.counts / n * ratio).sum()))


def mean_entropy(first: float, second: float, average: str) -> float:
    """The mean that normalises mutual information.

    Raises
    ------
    ValueError : `average` is neither `arithmetic` nor `geometric`.
    """
    if average == "arithmetic":
        return (first + second) / 2
    if average == "geometric":
        return float(np.sqrt(first * second))
    raise ValueError(f"average: expected 'arithmetic' or 'geometric', got {average!r}")
