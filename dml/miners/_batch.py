"""What the policies know of a batch: who is whose class mate, and how far apart samples are.

A *positive policy* is called as `policy(batch, draw)` and returns the positives it chooses, int64 (N, S): row i holds
positions of anchor i's class mates, -1 in the places that are left over. A *negative policy* is called as
`policy(batch, positives, draw)` with that table and returns either int64 (N, S), one negative for each chosen positive
and -1 where there is none, or bool (N, N), the set of negatives of each anchor, which goes with all its positives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


def move(values: Tensor, device: torch.device) -> Tensor:
    """To `device`, without waiting; only what the host itself will read has to arrive first."""
    return values.to(device, non_blocking=device.type != "cpu")


class Draw:
    """Uniform numbers in [0, 1) from one generator, drawn on its device and handed over without waiting."""

    def __init__(self, generator: torch.Generator | None, device: torch.device) -> None:
        self.generator, self.device = generator, device

    def __call__(self, shape: torch.Size) -> Tensor:
        """float32 of that shape; with no generator, from torch's default one."""
        device = self.device if self.generator is None else self.generator.device
        return move(torch.rand(shape, generator=self.generator, device=device), self.device)


def _once(make: Callable[[Batch], Tensor]) -> property:
    """A property made when first asked for; `functools.cached_property` takes a lock, which breaks a compiled graph."""

    def get(batch: Batch) -> Tensor:
        if make.__name__ not in batch._made:
            batch._made[make.__name__] = make(batch)
        return batch._made[make.__name__]

    return property(get, doc=make.__doc__)


class Batch:
    """One batch, detached: the class structure from one sort of the labels, the matrices from one Gram matrix.

    Parameters
    ----------
    embeddings : (N, D), N > 0; float64 is kept, every other type is taken to float32.
    labels : int64 (N,).
    normalize : L2-normalise the embeddings first.
    squared : `distance` is the squared Euclidean distance.
    width : places in the table of class mates; of a larger class every anchor sees `width` mates only.
    """

    def __init__(self, embeddings: Tensor, labels: Tensor, *, normalize: bool, squared: bool, width: int) -> None:
        x = embeddings.detach()
        x = x if x.dtype == torch.float64 else x.float()
        self._x = F.normalize(x, dim=1) if normalize else x
        self._normalized, self._squared = normalize, squared
        self._made: dict[str, Tensor] = {}
        self.labels = labels
        self.size, self.dimension = x.shape
        ordered, self.order = torch.sort(labels, stable=True)  # by class, then by position
        self.start = torch.searchsorted(ordered, labels)  # (N,) where the anchor's class begins in `order`
        self.count = torch.searchsorted(ordered, labels, right=True) - self.start  # (N,) size of the anchor's class
        self.available = self.size - self.count  # (N,) number of the anchor's negatives
        self.mates = self._mates(width)

    def _mates(self, width: int) -> Tensor:
        """int64 (N, width): each anchor's class mates in ascending order, then -1."""
        device = self.labels.device
        rank = torch.empty_like(self.order).scatter_(0, self.order, torch.arange(self.size, device=device))
        slot = torch.arange(width, device=device)
        place = self.start[:, None] + slot
        place = place + (place >= rank[:, None])  # step over the anchor itself
        mates = self.order[place.clamp_max(self.size - 1)]
        return mates.masked_fill(slot >= self.count[:, None] - 1, -1)

    @_once
    def gram(self) -> Tensor:
        """(N, N) inner products of the embeddings (normalised where asked)."""
        return self._x @ self._x.T

    @_once
    def squared(self) -> Tensor:
        """(N, N) squared Euclidean distances, never below 0."""
        norms = self._x.square().sum(1)
        return (norms[:, None] + norms).sub_(self.gram, alpha=2).clamp_min_(0)

    @_once
    def chordal(self) -> Tensor:
        """(N, N) squared distances between the L2-normalised embeddings, in [0, 4] but for rounding."""
        if self._normalized:
            return self.squared
        norms = self._x.norm(dim=1).clamp_min(1e-12)
        return (2 - 2 * self.gram / norms[:, None] / norms).clamp_min_(0)

    @_once
    def distance(self) -> Tensor:
        """(N, N) distances in the metric the miner was given."""
        return self.squared if self._squared else self.squared.sqrt()

    @_once
    def same(self) -> Tensor:
        """bool (N, N): of one class, the diagonal included."""
        return self.labels[:, None] == self.labels

    @_once
    def far(self) -> Tensor:
        """(N, N) distances to negatives, +inf elsewhere."""
        return self.distance.masked_fill(self.same, torch.inf)

    @staticmethod
    def at(matrix: Tensor, columns: Tensor, missing: float) -> Tensor:
        """matrix (N, N), columns int64 (N, S) -> (N, S) entries of each row, `missing` where the column is -1."""
        return matrix.gather(1, columns.clamp_min(0)).masked_fill(columns < 0, missing)


class PositivePolicy(Protocol):
    def __call__(self, batch: Batch, draw: Draw) -> Tensor: ...


class NegativePolicy(Protocol):
    def __call__(self, batch: Batch, positives: Tensor, draw: Draw) -> Tensor: ...
