"""Centres for k-means: greedy k-means++ for the start, and the exchange of misplaced centres.

k-means++ (Arthur & Vassilvitskii 2007, https://dl.acm.org/doi/10.5555/1283383.1283494) draws each new centre with a
probability proportional to D², a point's squared distance to the nearest centre so far. The greedy variant draws
several candidates and keeps the one that lowers the sum of D² most. Two changes make it affordable for 11,316 clusters:

- Centres are chosen in batches of an eighth of those so far, so that distances are matrix products. All candidates of a
  batch are drawn with the same probabilities; each choice within it takes account of the earlier ones.
- The first centres have one candidate each and the last eight: a misplaced centre is likely only towards the end.

The start then costs 2.5 passes over all points and centres. Lloyd's iterations cannot move a centre to a distant
cluster, so `exchange` does: it replaces centres that are hardly needed (two in one cluster) by new candidates.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._vectors import CHUNK

BATCH = 8  # a batch has one centre for so many chosen before
TRIALS = 8  # candidates for each of the last centres
TILE = 4096  # points whose distances to all candidates of a batch stay in a processor's cache
EXCHANGED = 4  # an exchange tries one candidate for so many centres


class Start(NamedTuple):
    """Centres among the points, and the partition by the nearest of them."""

    rows: Tensor  # int64 (k,), of the points
    owner: Tensor  # int64 (n,): each point's centre, 0..k-1


class Placement:
    """Points, their squared distances to the nearest of the centres chosen so far, and candidates for more centres.

    Parameters
    ----------
    points : float32 (n, D).
    draw : a generator on the CPU.
    nearest : float32 (n,), squared distances to the centres chosen so far; changed in place.
    """

    def __init__(self, points: Tensor, draw: torch.Generator, nearest: Tensor) -> None:
        self.points, self.nearest = points, nearest
        self._draw, self._squares = draw, points.square().sum(1)
        self.most = max(TRIALS, CHUNK // len(points))  # candidates whose distances are in memory at once

    def choose(
        self, candidates: int, count: int, stop: Callable[[int, float], bool], owner: Tensor | None = None, label: int = 0
    ) -> list[int]:
        """Draw candidates and greedily choose up to `count` of them, as rows of `points`.

        `stop(j, gain)` says whether not to choose a j-th that lowers the sum of D² by `gain`. The points nearest to the
        j-th chosen get the owner `label + j`.
        """
        rows = self._candidates(candidates)
        lower, sums = self._lowered(rows)
        total = float(self.nearest.sum())
        heap = [(value - total, place, 0) for place, value in enumerate(sums.tolist())]
        heapq.heapify(heap)
        chosen: list[int] = []
        while heap and len(chosen) < count:
            change, place, seen = heapq.heappop(heap)
            if seen < len(chosen):  # a gain only shrinks as others are chosen: compute it again if it may be the largest
                change = float(torch.minimum(lower[place], self.nearest).sum()) - total
                if heap and change > heap[0][0]:
                    heapq.heappush(heap, (change, place, len(chosen)))
                    continue
            if stop(len(chosen), -change):
                break
            if owner is not None:
                owner[lower[place] < self.nearest] = label + len(chosen)
            torch.minimum(lower[place], self.nearest, out=self.nearest)
            self.nearest[rows[place]] = 0.0
            total = float(self.nearest.sum())
            chosen.append(int(rows[place]))
        return chosen

    def _candidates(self, count: int) -> Tensor:
        """Rows drawn with probabilities proportional to D², int64 (count,); any rows where every D² is 0."""
        weights = self.nearest.clamp(min=0).double().cpu()
        total = weights.cumsum(0)
        if float(total[-1]) == 0:
            total = torch.arange(1.0, len(weights) + 1, dtype=torch.float64)
        drawn = torch.rand(count, generator=self._draw, dtype=torch.float64) * total[-1]
        rows = torch.searchsorted(total, drawn, right=True).clamp(max=len(weights) - 1)
        return rows.to(self.points.device)

    def _lowered(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """D² if each of `rows`, int64 (c,), became a centre: float32 (c, n), and its sums (c,)."""
        out = torch.empty(len(rows), len(self.points), device=self.points.device)
        sums = torch.zeros(len(rows), device=self.points.device)
        centres, own = self.points[rows], self._squares[rows, None]
        for start in range(0, len(self.points), TILE):
            tile = slice(start, start + TILE)
            part = torch.addmm(self._squares[tile], centres, self.points[tile].T, alpha=-2.0).add_(own)
            torch.minimum(part, self.nearest[tile], out=part)
            sums += part.sum(1)
            out[:, tile] = part
        return out, sums


def plus_plus(points: Tensor, k: int, draw: torch.Generator) -> Start:
    """Rows of `points`, float32 (n, D), to start k-means from."""
    first = torch.randint(len(points), (1,), generator=draw).to(points.device)
    nearest = (points - points[first]).square().sum(1)
    placement = Placement(points, draw, nearest)
    owner = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    rows = [int(first)]
    while len(rows) < k:
        trials = 1 + (TRIALS - 1) * (len(rows) / k) ** 3
        batch = min(k - len(rows), 1 + len(rows) // BATCH, max(1, int(placement.most / trials)))
        rows += placement.choose(round(batch * trials), batch, lambda *_: False, owner, len(rows))
    return Start(torch.tensor(rows, device=points.device), owner)


def exchange(
    points: Tensor, centres: Tensor, found: Tensor, distances: Tensor, draw: torch.Generator
) -> bool:
    """Replace centres by points where that lowers the cost. Returns whether any was replaced.

    Parameters
    ----------
    points : float32 (n, D).
    centres : float32 (k, D), changed in place.
    found, distances : int64 and float32 (n, 2), the two nearest centres of each point and their squared distances.
    """
    k = len(centres)
    removable, costs = _removable(found.cpu().numpy(), distances.cpu().numpy(), k)
    placement = Placement(points, draw, distances[:, 0].clamp(min=0))
    wanted = max(2 * TRIALS, k // EXCHANGED)
    size = min(wanted, placement.most)
    new: list[int] = []
    for _ in range(0, wanted, size):
        done = len(new)
        new += placement.choose(size, len(removable) - done, lambda j, gain, done=done: gain <= costs[done + j])
        if len(new) == done:
            break
    if new:
        centres[removable[: len(new)].to(centres.device)] = points[torch.tensor(new, device=points.device)]
    return bool(new)


def _removable(found: np.ndarray, distances: np.ndarray, k: int) -> tuple[Tensor, np.ndarray]:
    """Centres that may be removed together, cheapest first, and what each costs: int64 (r,), float64 (r,).

    To remove a centre costs what its points lose by going to their second nearest one, which then has to stay.
    """
    own, second = found[:, 0], found[:, 1]
    cost = np.bincount(own, weights=np.maximum(distances[:, 1] - distances[:, 0], 0), minlength=k)
    order = np.argsort(own, kind="stable")
    ends = np.bincount(own, minlength=k).cumsum()
    stays, removed = np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
    chosen = []
    for centre in np.argsort(cost, kind="stable")[: max(1, k // 2)]:
        others = second[order[ends[centre - 1] if centre else 0 : ends[centre]]]
        if not stays[centre] and not removed[others].any():
            removed[centre] = stays[others] = True
            chosen.append(centre)
    return torch.tensor(chosen, dtype=torch.int64), cost[chosen]
