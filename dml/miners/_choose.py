"""Choose one of several admissible entries in each row, without a loop over rows and without synchronisation."""

from __future__ import annotations

import torch
from torch import Tensor

# Up to this many columns, one pass over (N, N) for each column is cheaper than sorting every row.
# Measured at N = 512 on one core: 0.35 ms for a column, 8 ms for the sort.
FEW = 8


def rank(uniform: Tensor, count: Tensor) -> Tensor:
    """floor(uniform * count): int64, uniform over the ranks 0 .. count - 1; 0 where count is 0.

    The largest float32 below 1, multiplied by a count below 2^24, never rounds up to the count.
    """
    return (uniform * count).long()


def one_of(admissible: Tensor, uniform: Tensor) -> Tensor:
    """A uniformly chosen True entry of each row.

    Parameters
    ----------
    admissible : bool (N, C).
    uniform : (N, S) numbers in [0, 1), one for each choice to make.

    Returns
    -------
    int64 (N, S) : columns, -1 if the row has no True.
    """
    running = admissible.cumsum(1, dtype=torch.int32)
    count = running[:, -1:].long()
    column = torch.searchsorted(running, (rank(uniform, count) + 1).int())
    return column.masked_fill(count == 0, -1)


def one_between(far: Tensor, low: Tensor | None, high: Tensor, uniform: Tensor) -> Tensor:
    """A uniformly chosen column of each row with low < far < high.

    Parameters
    ----------
    far : (N, N); +inf marks columns that are never chosen.
    low, high, uniform : (N, S). Without `low` the interval has no lower end.

    Returns
    -------
    int64 (N, S) : columns, -1 if no entry is in the interval.
    """
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
    """The column of the smallest entry of each row that is above `low`.

    Parameters
    ----------
    far : (N, N); +inf marks columns that are never chosen.
    low : (N, S).

    Returns
    -------
    int64 (N, S) : columns, -1 if no entry is above.
    """
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
