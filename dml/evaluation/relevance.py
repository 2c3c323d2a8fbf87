"""The relevant rows among a query's neighbours and their ranks, without the rows that are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.evaluation._ranks import Ranks


class Hits(NamedTuple):
    """Relevant rows among the nearest of b queries, one entry each, ordered by query and rank."""

    row: np.ndarray  # int64 (h,), the query's place in the block
    rank: np.ndarray  # int64 (h,), from 1
    nth: np.ndarray  # int64 (h,): 1 for a query's first hit, 2 for its second, ...
    positives: np.ndarray  # int64 (b,): all relevant rows in the gallery, found or not

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum values of hits, (h,), for each query: float64 (b,)."""
        return np.bincount(self.row, weights=values, minlength=len(self.positives))


class Relevance:
    """The gallery rows that are relevant to each query, at one level of labels.

    Parameters
    ----------
    labels : int64 (n,).
    cameras : int64 (n,) or None. Gallery rows of the query's class and camera are ignored.
    queries, gallery : int64 (q,) and (m,), rows.
    """

    def __init__(
        self, labels: np.ndarray, cameras: np.ndarray | None, queries: np.ndarray, gallery: np.ndarray
    ) -> None:
        same = np.zeros(len(queries), dtype=np.int64)
        if cameras is not None:
            pairs = np.unique(labels * (cameras.max() + 1) + cameras, return_inverse=True)[1].reshape(-1)
            same = _counts(pairs[gallery])(pairs[queries])
        itself = np.isin(queries, gallery).astype(np.int64)
        self.ignored = np.maximum(same, itself)  # (q,); a query in the gallery is among its camera's rows
        self.positives = _counts(labels[gallery])(labels[queries]) - self.ignored
        self.most = int(self.positives.max(initial=0))
        members = labels[gallery]
        self._members = torch.from_numpy(np.argsort(members, kind="stable"))
        self._sizes = torch.from_numpy(np.bincount(members, minlength=int(labels.max()) + 1))
        self.largest = max(1, int(self._sizes.max()))  # rows of the largest class in the gallery
        self._labels, self._cameras = torch.from_numpy(labels), None if cameras is None else torch.from_numpy(cameras)
        self._queries, self._gallery = torch.from_numpy(queries), torch.from_numpy(gallery)

    def to(self, device: torch.device) -> Relevance:
        """Move the tensors to `device`. Returns self."""
        for name in ("_labels", "_cameras", "_queries", "_gallery", "_members", "_sizes"):
            tensor = getattr(self, name)
            setattr(self, name, None if tensor is None else tensor.to(device))
        return self

    def hits(self, block: slice, order: Tensor) -> Hits:
        """The hits at this level of a block of `Neighbours.blocks`."""
        queries = self._queries[block, None]
        neighbours = self._gallery[order]
        relevant = (self._labels[neighbours] == self._labels[queries]) & (order >= 0)
        ignored = self._is_ignored(queries, neighbours, relevant)
        ranks = torch.arange(1, order.shape[1] + 1, device=order.device) - ignored.cumsum(1)
        return self._hits(block, ranks, relevant & ~ignored)

    def hits_in_all(self, block: slice, ranks: Ranks) -> Hits:
        """All hits of a block of queries in the whole ranking."""
        queries = self._queries[block, None]
        labels = self._labels[queries]
        column = torch.arange(int(self._sizes[labels].max()), device=queries.device)
        inside = column < self._sizes[labels]
        start = self._sizes.cumsum(0)[labels] - self._sizes[labels]
        place = self._members[(start + column).clamp(max=len(self._members) - 1)]
        rank = ranks(place, inside)
        ignored = self._is_ignored(queries, self._gallery[place], inside)
        last = 2 * len(self._gallery)
        key = torch.where(inside, 2 * rank + ignored, last).sort(dim=1).values
        ignored = (key % 2).bool()
        places = torch.div(key, 2, rounding_mode="floor") + 1 - ignored.cumsum(1)
        return self._hits(block, places, (key < last) & ~ignored)

    def _is_ignored(self, queries: Tensor, neighbours: Tensor, relevant: Tensor) -> Tensor:
        ignored = neighbours == queries
        if self._cameras is not None:
            ignored |= relevant & (self._cameras[neighbours] == self._cameras[queries])
        return ignored

    def _hits(self, block: slice, ranks: Tensor, relevant: Tensor) -> Hits:
        """Hits from ascending ranks (b, c), and bool (b, c) for which of them are relevant."""
        places = relevant.nonzero()
        row = places[:, 0].cpu().numpy()
        rank = ranks[places[:, 0], places[:, 1]].cpu().numpy()
        found = np.bincount(row, minlength=len(relevant))
        nth = np.arange(1, len(row) + 1) - np.repeat(found.cumsum() - found, found)
        return Hits(row, rank, nth, self.positives[block])


def _counts(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function that counts how often numbers occur among `values`."""
    table = np.bincount(values)

    def count(asked: np.ndarray) -> np.ndarray:
        return np.where(asked < len(table), table[np.minimum(asked, len(table) - 1)], 0)

    return count
