"""What a policy knows of a batch: which samples share a class, and how far apart the samples are."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dml.tensors import directions

# A squared distance from a Gram matrix has an error of a few units in the last place of the two squared norms.
# Up to this many units count as 0, so equal embeddings are at distance 0. Measured: at most 5 units for D = 2048.
ROUNDING = 16


class UniformNumbers:
    """Draws uniform numbers in [0, 1) on the generator's device and copies them to `device` without blocking."""

    def __init__(self, generator: torch.Generator | None, device: torch.device) -> None:
        self.generator, self.device = generator, device

    def __call__(self, shape: torch.Size) -> Tensor:
        """float32 numbers of that shape. Without a generator they come from torch's default one for `device`."""
        device = self.device if self.generator is None else self.generator.device
        uniform = torch.rand(shape, generator=self.generator, device=device)
        return uniform.to(self.device, non_blocking=self.device.type != "cpu")


def _once(make: Callable[[MinerBatch], Tensor]) -> property:
    """A property computed on first use. `functools.cached_property` takes a lock, which breaks a compiled graph."""

    def get(batch: MinerBatch) -> Tensor:
        if make.__name__ not in batch._made:
            batch._made[make.__name__] = make(batch)
        return batch._made[make.__name__]

    return property(get, doc=make.__doc__)


class MinerBatch:
    """One batch, detached. One sort of the labels gives the class structure, one Gram matrix the distances.

    Normalised embeddings are compared in float32; others in float64 and centred first, because in float32 a large norm
    or a common offset would hide small distances. Of embeddings (N, D), labels int64 (N,), and those `kept`, bool (N,);
    the others have no mates and no negatives. In larger classes than `width` + 1 an anchor sees its first `width` ones.

    Attributes
    ----------
    order : int64 (N,), positions sorted by class, then by position.
    start, count : int64 (N,), where the anchor's class begins in `order`, and its size.
    available : int64 (N,), the number of the anchor's negatives.
    mates : int64 (N, width), positions of the anchor's class mates in ascending order, then -1.
    """

    def __init__(
        self,
        embeddings: Tensor,
        labels: Tensor,
        *,
        normalize: bool,
        squared: bool,
        width: int,
        kept: Tensor | None = None,
    ) -> None:
        x = embeddings.detach()
        x = x if x.dtype == torch.float64 else x.float()
        self._x = directions(x) if normalize else x.double()
        self._normalized, self._squared = normalize, squared
        self._made: dict[str, Tensor] = {}
        # Those left out come last, as one class that has no negatives.
        self.labels = labels if kept is None else labels.masked_fill(~kept, torch.iinfo(torch.int64).max)
        self.size, self.dimension = x.shape
        ordered, self.order = torch.sort(self.labels, stable=True)
        self.start = torch.searchsorted(ordered, self.labels)
        self.count = torch.searchsorted(ordered, self.labels, right=True) - self.start
        self.available = (self.size if kept is None else kept.sum()) - self.count
        self._left_out = None if kept is None else ~kept
        if kept is not None:
            self.count, self.available = self.count.where(kept, 1), self.available.where(kept, 0)
        self.mates = self._mates(width)

    def _mates(self, width: int) -> Tensor:
        device = self.labels.device
        rank = torch.empty_like(self.order).scatter_(0, self.order, torch.arange(self.size, device=device))
        slot = torch.arange(width, device=device)
        place = self.start[:, None] + slot
        place = place + (place >= rank[:, None])  # skip the anchor itself
        mates = self.order[place.clamp_max(self.size - 1)]
        return mates.masked_fill(slot >= self.count[:, None] - 1, -1)

    @_once
    def gram(self) -> Tensor:
        """(N, N) inner products of the embeddings: cosines if the miner normalises."""
        return self._x @ self._x.T

    @_once
    def squared(self) -> Tensor:
        """(N, N) squared Euclidean distances, never below 0."""
        if self._normalized:
            return _squared_distances(self._x.square().sum(1), self.gram)
        centred = self._x - self._x.mean(dim=0)
        norms = centred.square().sum(1)
        rounding = (norms[:, None] + norms).mul_(ROUNDING * torch.finfo(norms.dtype).eps)
        squared = _squared_distances(norms, centred @ centred.T)
        return squared.masked_fill_(squared <= rounding, 0)

    @_once
    def chordal(self) -> Tensor:
        """(N, N) squared distances between the L2-normalised embeddings, in [0, 4] up to rounding."""
        if self._normalized:
            return self.squared
        unit = directions(self._x)
        return _squared_distances(unit.square().sum(1), unit @ unit.T)

    @_once
    def distance(self) -> Tensor:
        """(N, N) distances in the miner's metric."""
        return self.squared if self._squared else self.squared.sqrt()

    @_once
    def same(self) -> Tensor:
        """bool (N, N): both samples have the same class, or one is left out; True on the diagonal."""
        same = self.labels[:, None] == self.labels
        return same if self._left_out is None else same | self._left_out | self._left_out[:, None]

    @_once
    def far(self) -> Tensor:
        """(N, N) distances to negatives, +inf elsewhere."""
        return self.distance.masked_fill(self.same, torch.inf)

    @staticmethod
    def at(matrix: Tensor, columns: Tensor, missing: float) -> Tensor:
        """matrix (N, N), columns int64 (N, S) -> (N, S) entries of each row, `missing` where the column is -1."""
        return matrix.gather(1, columns.clamp_min(0)).masked_fill(columns < 0, missing)


def _squared_distances(norms: Tensor, gram: Tensor) -> Tensor:
    """Squared norms (N,) and inner products (N, N) -> squared distances (N, N), never below 0."""
    return (norms[:, None] + norms).sub_(gram, alpha=2).clamp_min_(0)


# Up to this many columns, one pass over (N, N) for each column is cheaper than sorting every row.
# Measured at N = 512 on one core: 0.35 ms for a column, 8 ms for the sort.
FEW = 8


def rank(uniform: Tensor, count: Tensor) -> Tensor:
    """floor(uniform * count): int64, uniform over the ranks 0 .. count - 1; 0 where count is 0."""
    return (uniform * count).long()


def one_of(admissible: Tensor, uniform: Tensor) -> Tensor:
    """A uniformly chosen True entry of each row, (N, C), by `uniform` (N, S) -> int64 (N, S), -1 if a row has none."""
    running = admissible.cumsum(1, dtype=torch.int32)
    count = running[:, -1:].long()
    column = torch.searchsorted(running, (rank(uniform, count) + 1).int())
    return column.masked_fill(count == 0, -1)


def one_between(far: Tensor, low: Tensor | None, high: Tensor, uniform: Tensor) -> Tensor:
    """A random column of each row with low < far < high, (N, S) each, +inf never -> int64 (N, S), -1 if none is."""
    if high.shape[1] <= FEW:
        chosen = []
        for place in range(high.shape[1]):
            inside = far < high[:, place, None]
            if low is not None:
                inside &= far > low[:, place, None]
            chosen.append(one_of(inside, uniform[:, place, None]))
        return torch.cat(chosen, dim=1)
    values, columns = far.sort(dim=1)
    end = torch.searchsorted(values, high.contiguous())
    begin = torch.zeros_like(end) if low is None else torch.searchsorted(values, low.contiguous(), right=True)
    count = (end - begin).clamp_min(0)
    ranks = (begin + rank(uniform, count)).clamp_max(far.shape[1] - 1)
    outside = (count == 0) | values.gather(1, ranks).isinf()  # infinite if a bound is NaN
    return columns.gather(1, ranks).masked_fill(outside, -1)


def nearest_above(far: Tensor, low: Tensor) -> Tensor:
    """The column of each row's smallest entry above `low`, (N, S) -> int64 (N, S), -1 if none is; +inf never."""
    if low.shape[1] <= FEW:
        chosen = []
        for place in range(low.shape[1]):
            value, column = far.masked_fill(far <= low[:, place, None], torch.inf).min(dim=1)
            chosen.append(column.masked_fill(value.isinf(), -1))
        return torch.stack(chosen, dim=1)
    values, columns = far.sort(dim=1, stable=True)  # stable: the first of equal entries, like `min`
    ranks = torch.searchsorted(values, low.contiguous(), right=True).clamp_max(far.shape[1] - 1)
    nearest = values.gather(1, ranks)
    return columns.gather(1, ranks).masked_fill((nearest <= low) | nearest.isinf(), -1)
