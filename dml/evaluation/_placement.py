"""The greedy choice of centres among candidates drawn by their distance to the centres so far.

The distances are one matrix product on the device. The choices are thousands of short steps: NumPy does them with less
overhead than torch, and on one thread, so that they do not wait for busy cores.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._vectors import CHUNK

CACHED = 1 << 17  # numbers that stay in a processor's cache


def squared_norms(points: Tensor) -> Tensor:
    """Squared norms (n,) of points (n, D), without a second array of their size."""
    return torch.linalg.vector_norm(points, dim=1).square()


class Placement:
    """Points and their squared distances D² to the nearest of the centres so far.

    Parameters
    ----------
    points : float32 (n, D).
    draw : a generator on the CPU.
    nearest : D², float32 (n,); changed in place.
    place : rows, int64 (c,) -> the candidates at these points, float32 (c, D); None: the points themselves.
    """

    def __init__(
        self,
        points: Tensor,
        draw: torch.Generator,
        nearest: np.ndarray,
        place: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.nearest, self._place = nearest, place or points.__getitem__
        self.most = max(32, CHUNK // len(points))  # candidates whose distances are in memory at once
        self._draw, self._points, self._squares = draw, points, squared_norms(points).cpu().numpy()
        self._space = torch.empty(0, len(points), device=points.device)

    def choose(
        self, candidates: int, count: int, costs: Sequence[float], owner: np.ndarray | None = None, label: int = 0
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
        own = candidates.square().sum(1, keepdim=True).cpu().numpy()
        product = torch.mm(-2 * candidates, self._points.T, out=self._space[: len(rows)])
        lower, sums = product.cpu().numpy(), []
        step = max(1, CACHED // len(self.nearest))
        for start in range(0, len(rows), step):
            part = lower[start : start + step]
            part += self._squares
            part += own[start : start + step]
            sums += np.minimum(part, self.nearest, out=part).sum(1).tolist()
        return lower, sums
