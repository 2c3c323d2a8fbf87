"""k-means over embeddings: greedy k-means++, Lloyd's iterations, and the exchange of misplaced centres.

k-means++ (Arthur & Vassilvitskii 2007, https://dl.acm.org/doi/10.5555/1283383.1283494) draws each new centre with
a probability proportional to D², a point's squared distance to the nearest centre so far; the greedy variant draws
several candidates and keeps the one that lowers the sum of D² most. Two changes make it affordable for 11,316 clusters:

- Centres are chosen in batches of a quarter of those so far, so that distances are matrix products.
- The first centres have one candidate each and the last eight, since late centres are the likely ones to be misplaced.

Lloyd's iterations cannot move a centre to a distant cluster, so `exchange` replaces centres that are hardly needed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation import _search
from dml.evaluation._vectors import CHUNK, Vectors
from dml.seeding import generator
from dml.tensors import without_autocast

CACHED = 1 << 17  # numbers that stay in a processor's cache


class Placement:
    """Points (n, D) and their squared distances D² (n,) to the nearest of the centres so far, changed in place."""

    def __init__(
        self,
        points: Tensor,
        draw: torch.Generator,
        nearest: np.ndarray,
        place: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.nearest, self._place = nearest, place or points.__getitem__
        self.most = max(32, CHUNK // len(points))  # candidates whose distances are in memory at once
        self._draw, self._points = draw, points
        self._squares = torch.linalg.vector_norm(points, dim=1).square().cpu().numpy()  # without a copy of the points
        self._space = torch.empty(0, len(points), device=points.device)

    def choose(
        self, candidates: int, count: int, costs: Sequence[float], owner: np.ndarray | None = None, label: int = 0
    ) -> list[int]:
        """Draw candidates, and choose up to `count` rows that lower the sum of D² most, the j-th by more than its cost.

        Points that are nearest to the j-th get the value `label + j` in `owner`, int64 (n,).
        """
        rows = self._candidates(candidates)
        lower, sums = self._lowered(rows)
        total, scratch = float(self.nearest.sum()), np.empty_like(self.nearest)
        heap = [(value - total, place, 0) for place, value in enumerate(sums)]
        heapq.heapify(heap)
        chosen: list[int] = []
        while heap and len(chosen) < count:
            change, place, seen = heapq.heappop(heap)
            if seen < len(chosen):  # computed before the last choice, since which it can only have shrunk
                change = float(np.minimum(lower[place], self.nearest, out=scratch).sum()) - total
                if heap and change > heap[0][0]:
                    heapq.heappush(heap, (change, place, len(chosen)))
                    continue
            if len(chosen) < len(costs) and -change <= costs[len(chosen)]:
                break
            if owner is not None:
                owner[lower[place] < self.nearest] = label + len(chosen)
            np.minimum(lower[place], self.nearest, out=self.nearest)
            total += change
            chosen.append(place)
        return rows[chosen].tolist()

    def _candidates(self, count: int) -> Tensor:
        """Rows drawn with probabilities proportional to D², int64 (count,); any rows if every D² is 0."""
        weights = np.maximum(self.nearest, 0)
        total = (weights if weights.any() else weights + 1).cumsum(dtype=np.float64)
        drawn = torch.rand(count, generator=self._draw, dtype=torch.float64).numpy() * total[-1]
        return torch.from_numpy(np.minimum(total.searchsorted(drawn, "right"), len(total) - 1))

    def _lowered(self, rows: Tensor) -> tuple[np.ndarray, list[float]]:
        """D² if each of `rows`, int64 (c,), became a centre: float32 (c, n), and the sums (c,)."""
        if len(self._space) < len(rows):
            self._space = self._points.new_empty(len(rows), len(self.nearest))
        candidates = self._place(rows.to(self._points.device))
        norms = candidates.square().sum(1, keepdim=True).cpu().numpy()
        product = torch.mm(-2 * candidates, self._points.T, out=self._space[: len(rows)])
        lower, sums = product.cpu().numpy(), []
        step = max(1, CACHED // len(self.nearest))
        for start in range(0, len(rows), step):
            part = lower[start : start + step]
            part += self._squares
            part += norms[start : start + step]
            sums += np.minimum(part, self.nearest, out=part).sum(1).tolist()
        return lower, sums


SHARE = 4  # a batch adds a quarter of the centres so far
TRIALS = 8  # candidates for each of the last centres,
FEWEST = 800  # or more for few centres: so many for each, divided by the number of centres
EXCHANGED = 4  # an exchange draws a candidate for every fourth centre,
FEWEST_EXCHANGED = 32  # and at least so many
STEP = 0.7  # of the way from a point's centre to the point: in many dimensions most of a point is noise


def plus_plus(points: Tensor, k: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Choose k of the points, float32 (n, D), to start k-means from. `draw` is a generator on the CPU."""
    first = torch.randint(len(points), (1,), generator=draw).to(points.device)
    squares = torch.linalg.vector_norm(points, dim=1).square()
    nearest = squares + squares[first] - 2 * (points @ points[first[0]])
    placement = Placement(points, draw, nearest.cpu().numpy())
    owner = np.zeros(len(points), dtype=np.int64)
    rows, last = [int(first)], max(TRIALS, FEWEST // k)
    while len(rows) < k:
        trials = 1 + (last - 1) * (len(rows) / k) ** 3
        batch = min(k - len(rows), 1 + len(rows) // SHARE, max(1, int(placement.most / trials)))
        rows += placement.choose(round(batch * trials), batch, (), owner, len(rows))
    return torch.tensor(rows, device=points.device), torch.from_numpy(owner).to(points.device)


def exchange(points: Tensor, centres: Tensor, clusters: Tensor, distances: Tensor, draw: torch.Generator) -> int:
    """Replace centres (k, D) in place if that lowers the cost; how many. `clusters`, `distances` (n, 2): nearest."""
    removable, costs = _removable(clusters.cpu().numpy(), distances.cpu().numpy(), len(centres))
    before = centres.clone()

    def place(rows: Tensor) -> Tensor:
        current = before[clusters[rows, 0]]
        return current + STEP * (points[rows] - current)

    placement = Placement(points, draw, distances[:, 0].clamp(min=0).cpu().numpy(), place)
    candidates = max(FEWEST_EXCHANGED, len(centres) // EXCHANGED)
    size = min(candidates, placement.most)
    new: list[int] = []
    for _ in range(0, candidates, size):
        done = len(new)
        new += placement.choose(size, len(removable) - done, costs[done:])
        if len(new) == done:
            break
    if new:
        centres[removable[: len(new)].to(centres.device)] = place(torch.tensor(new, device=points.device))
    return len(new)


def _removable(clusters: np.ndarray, distances: np.ndarray, k: int) -> tuple[Tensor, list[float]]:
    """Centres that may be removed together, int64 (r,), cheapest first, and the cost of removing each."""
    first, second = clusters[:, 0], clusters[:, 1]
    cost = np.bincount(first, weights=np.maximum(distances[:, 1] - distances[:, 0], 0), minlength=k)
    second = second[np.argsort(first, kind="stable")]
    ends = np.bincount(first, minlength=k).cumsum()
    starts = np.append(0, ends[:-1])
    stays, removed = np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
    chosen = []
    for centre in np.argsort(cost, kind="stable")[: max(1, k // 2)]:
        others = second[starts[centre] : ends[centre]]
        if not stays[centre] and not removed[others].any():
            removed[centre] = stays[others] = True
            chosen.append(centre)
    return torch.tensor(np.array(chosen, dtype=np.int64)), cost[chosen].tolist()


ITERATIONS = 12  # from k-means++ these give a lower cost than 25 from random points
COLLAPSED = 1e-5  # variance of directions, 1 less their mean cosine, below which they are centred
EXCHANGES = 3  # iterations that may exchange centres,
WORTHWHILE = 0.005  # as long as each replaces this share of them


@without_autocast
def kmeans(vectors: Vectors, k: int, *, seed: int = 0, backend: str = "auto") -> np.ndarray:
    """Cluster the rows of `vectors` and return the cluster of each, int64 (n,), in 0..k-1. Raises ValueError."""
    if k < 1:
        raise ValueError(f"k-means: expected k >= 1, got {k}")
    if k >= len(vectors):
        return np.arange(len(vectors), dtype=np.int64)
    backend = _search.choose(backend, vectors.device)
    if k == 1:
        return np.zeros(len(vectors), dtype=np.int64)
    return _clusters(vectors, k, generator(seed, f"k-means {k} 0"), backend).cpu().numpy()


def _clusters(vectors: Vectors, k: int, draw: torch.Generator, backend: str) -> Tensor:
    """Iterations from k-means++: the cluster of every row, int64 (n,)."""
    points, spherical = _points(vectors)
    rows, cluster = plus_plus(points, k, draw)
    centres, exchanges = points[rows], EXCHANGES
    nearest: Nearest | None = None

    def find(rows: Tensor, centres: Tensor, count: int) -> Nearest:
        search = _search.search(centres, centres.square().sum(1), backend, unit=spherical)
        parts = [search(points[part], count) for part in rows.split(max(1, CHUNK // max(centres.shape)))]
        distances, clusters = map(torch.cat, zip(*parts, strict=True))
        return Nearest(clusters, distances)

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
        cluster = nearest.clusters[:, 0]
    return cluster


class Nearest(NamedTuple):
    """The nearest centres of each point, nearest first."""

    clusters: Tensor  # int64 (n, count)
    distances: Tensor  # float32 (n, count), squared


Find = Callable[[Tensor, Tensor, int], Nearest]  # rows of the points, centres, count -> the nearest of all centres


def _update(before: Nearest, centres: Tensor, moved: Tensor, count: int, find: Find) -> Nearest:
    """The `count` nearest centres of each point after those moved that `moved`, bool (k,), marks."""
    some = moved.nonzero()[:, 0]
    clusters, distances = before.clusters[:, :count].clone(), before.distances[:, :count].clone()
    lost = moved[clusters].any(1)
    again, others = lost.nonzero()[:, 0], (~lost).nonzero()[:, 0]
    if len(again):
        clusters[again], distances[again] = find(again, centres, count)
    if len(others):
        new = find(others, centres[some], min(count, len(some)))
        reach, order = torch.cat([distances[others], new.distances], 1).sort(dim=1, stable=True)
        clusters[others] = torch.cat([clusters[others], some[new.clusters]], 1).gather(1, order)[:, :count]
        distances[others] = reach[:, :count]
    return Nearest(clusters, distances)


def _points(vectors: Vectors) -> tuple[Tensor, bool]:
    """The points, divided by a power of two if float32 cannot represent their squares."""
    points, spherical = vectors.working, vectors.normalize
    if spherical and 1 - float(vectors.mean.square().sum()) < COLLAPSED:
        points, spherical = vectors.centred(), False
    largest = float(points.abs().max())
    if not (1e-12 < largest < 1e12 or largest == 0):
        points = points / 2.0 ** round(np.log2(largest))
    return points, spherical


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
