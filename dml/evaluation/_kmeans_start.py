"""Centres for k-means: greedy k-means++ for the start, and the exchange of misplaced centres.

k-means++ (Arthur & Vassilvitskii 2007, https://dl.acm.org/doi/10.5555/1283383.1283494) draws each new centre with
a probability proportional to D², a point's squared distance to the nearest centre so far. The greedy variant draws
several candidates and keeps the one that lowers the sum of D² most. Two changes make it affordable for 11,316 clusters:

- Centres are chosen in batches of a quarter of those so far, so that distances are matrix products. All candidates of
  a batch are drawn with the same probabilities; each choice takes account of the earlier ones.
- The first centres have one candidate each and the last eight, since late centres are the likely ones to be misplaced.

The start costs as much as 2.5 comparisons of all points with all centres. Lloyd's iterations cannot move a centre to
a distant cluster, so `exchange` does: it replaces centres that are hardly needed (two in one cluster) by candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._placement import Placement, squared_norms

SHARE = 4  # a batch adds a quarter of the centres so far
TRIALS = 8  # candidates for each of the last centres,
FEWEST = 800  # or more for few centres: so many for each, divided by the number of centres
EXCHANGED = 4  # an exchange draws a candidate for every fourth centre,
FEWEST_EXCHANGED = 32  # and at least so many
STEP = 0.7  # of the way from a point's centre to the point: in many dimensions most of a point is noise


class Start(NamedTuple):
    """Centres among the points, and the partition by the nearest centre."""

    rows: Tensor  # int64 (k,), of the points
    owner: Tensor  # int64 (n,), in 0..k-1


def plus_plus(points: Tensor, k: int, draw: torch.Generator) -> Start:
    """Choose k of the points, float32 (n, D), to start k-means from. `draw` is a generator on the CPU."""
    first = torch.randint(len(points), (1,), generator=draw).to(points.device)
    squares = squared_norms(points)
    nearest = squares + squares[first] - 2 * (points @ points[first[0]])
    placement = Placement(points, draw, nearest.cpu().numpy())
    owner = np.zeros(len(points), dtype=np.int64)
    rows, last = [int(first)], max(TRIALS, FEWEST // k)
    while len(rows) < k:
        trials = 1 + (last - 1) * (len(rows) / k) ** 3
        batch = min(k - len(rows), 1 + len(rows) // SHARE, max(1, int(placement.most / trials)))
        rows += placement.choose(round(batch * trials), batch, (), owner, len(rows))
    return Start(torch.tensor(rows, device=points.device), torch.from_numpy(owner).to(points.device))


def exchange(points: Tensor, centres: Tensor, found: Tensor, distances: Tensor, draw: torch.Generator) -> int:
    """Replace centres if that lowers the cost. Returns how many were replaced.

    The candidates for new centres are points drawn by their distance to the nearest centre, moved towards it.

    Parameters
    ----------
    points : float32 (n, D).
    centres : float32 (k, D), changed in place.
    found, distances : int64 and float32 (n, 2), the two nearest centres of each point and their squared distances.
    draw : a generator on the CPU.
    """
    removable, costs = _removable(found.cpu().numpy(), distances.cpu().numpy(), len(centres))
    before = centres.clone()

    def place(rows: Tensor) -> Tensor:
        own = before[found[rows, 0]]
        return own + STEP * (points[rows] - own)

    placement = Placement(points, draw, distances[:, 0].clamp(min=0).cpu().numpy(), place)
    wanted = max(FEWEST_EXCHANGED, len(centres) // EXCHANGED)
    size = min(wanted, placement.most)
    new: list[int] = []
    for _ in range(0, wanted, size):
        done = len(new)
        new += placement.choose(size, len(removable) - done, costs[done:])
        if len(new) == done:
            break
    if new:
        centres[removable[: len(new)].to(centres.device)] = place(torch.tensor(new, device=points.device))
    return len(new)


def _removable(found: np.ndarray, distances: np.ndarray, k: int) -> tuple[Tensor, list[float]]:
    """Centres that may be removed together, int64 (r,), cheapest first, and the cost of removing each.

    The cost is what its points lose if they go to their second nearest centre, which must not be removed as well.
    """
    own, second = found[:, 0], found[:, 1]
    cost = np.bincount(own, weights=np.maximum(distances[:, 1] - distances[:, 0], 0), minlength=k)
    second = second[np.argsort(own, kind="stable")]
    ends = np.bincount(own, minlength=k).cumsum()
    starts = np.append(0, ends[:-1])
    stays, removed = np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
    chosen = []
    for centre in np.argsort(cost, kind="stable")[: max(1, k // 2)]:
        others = second[starts[centre] : ends[centre]]
        if not stays[centre] and not removed[others].any():
            removed[centre] = stays[others] = True
            chosen.append(centre)
    return torch.tensor(np.array(chosen, dtype=np.int64)), cost[chosen].tolist()
