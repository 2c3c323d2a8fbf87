"""The greedy choice of centres among candidates drawn by their distance to the centres so far."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import torch
from torch import Tensor

from dml.evaluation._vectors import CHUNK

FEWEST = 32  # candidates drawn at once; so many cost little
TILE = 4096  # points whose distances to all candidates stay in a processor's cache


class Placement:
    """Points and their squared distances D² to the nearest of the centres so far.

    Parameters
    ----------
    points : float32 (n, D).
    draw : a generator on the CPU.
    nearest : D², float32 (n,); changed in place.
    """

    def __init__(self, points: Tensor, draw: torch.Generator, nearest: Tensor) -> None:
        self.nearest = nearest
        self.most = max(FEWEST, CHUNK // len(points))  # candidates whose distances are in memory at once
        self._points, self._draw, self._squares = points, draw, points.square().sum(1)

    def choose(
        self, candidates: int, count: int, costs: Sequence[float], owner: Tensor | None = None, label: int = 0
    ) -> list[int]:
        """Draw candidates, and greedily choose up to `count` of them that lower the sum of D² most.

        Parameters
        ----------
        costs : the j-th is chosen only if it lowers the sum by more than the j-th cost, if there is one.
        owner : int64 (n,); points that are nearest to the j-th get the value `label + j`.

        Returns
        -------
        Rows of the points.
        """
        rows = self._candidates(candidates)
        lower, sums = self._lowered(rows)
        total = float(self.nearest.sum())
        heap = [(value - total, place, 0) for place, value in enumerate(sums.tolist())]
        heapq.heapify(heap)
        chosen: list[int] = []
        while heap and len(chosen) < count:
            change, place, seen = heapq.heappop(heap)
            if seen < len(chosen):  # computed before the last choice, since which it can only have shrunk
                change = float(torch.minimum(lower[place], self.nearest).sum()) - total
                if heap and change > heap[0][0]:
                    heapq.heappush(heap, (change, place, len(chosen)))
                    continue
            if len(chosen) < len(costs) and -change <= costs[len(chosen)]:
                break
            if owner is not None:
                owner[lower[place] < self.nearest] = label + len(chosen)
            torch.minimum(lower[place], self.nearest, out=self.nearest)
            self.nearest[rows[place]] = 0.0
            total = float(self.nearest.sum())
            chosen.append(int(rows[place]))
        return chosen

    def _candidates(self, count: int) -> Tensor:
        """Rows drawn with probabilities proportional to D², int64 (count,); any rows if every D² is 0."""
        weights = self.nearest.clamp(min=0).double().cpu()
        if not weights.any():
            weights += 1
        total = weights.cumsum(0)
        drawn = torch.rand(count, generator=self._draw, dtype=torch.float64) * total[-1]
        rows = torch.searchsorted(total, drawn, right=True).clamp(max=len(weights) - 1)
        return rows.to(self._points.device)

    def _lowered(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """D² if each of `rows`, int64 (c,), became a centre: float32 (c, n), and the sums (c,)."""
        out = torch.empty(len(rows), len(self._points), device=self._points.device)
        sums = torch.zeros(len(rows), device=self._points.device)
        centres, own = self._points[rows], self._squares[rows, None]
        for start in range(0, len(self._points), TILE):
            tile = slice(start, start + TILE)
            part = torch.addmm(self._squares[tile], centres, self._points[tile].T, alpha=-2.0).add_(own)
            torch.minimum(part, self.nearest[tile], out=part)
            sums += part.sum(1)
            out[:, tile] = part
        return out, sums
