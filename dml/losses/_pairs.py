"""Losses that are a mean over pairs: their value, gradient and value for each pair, from the cost of a pair.

A loss passes `costs`, a function of the pair matrix (N, N) of distances that returns the cost of each pair as a
positive and as a negative. The gap of a positive pair is the matrix plus a constant; that of a negative pair is a
constant minus the matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dml.losses._costs import Cost
from dml.losses._forms import Form, divisor, pair_weights
from dml.losses._geometry import Geometry

Costs = Callable[[Tensor], tuple[Cost, Cost]]


def mean_over_pairs(
    costs: Costs,
    geometry: Geometry,
    positives: Tensor,
    negatives: Tensor,
    reduction: str,
    boundary: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The loss and `active_share`, the share of the pairs that cost something: 0-d both.

    Parameters
    ----------
    positives, negatives : how often each pair counts, of the matrix's shape; overwritten.
    reduction : `mean` over the pairs, `nonzero` (over the pairs with a positive cost) or `sum`.
    boundary : (N, 1), differentiable; subtracted from each anchor's row of the matrix before `costs`.
    """
    matrix = geometry.matrix if boundary is None else geometry.matrix.sub_(boundary.detach())
    count = positives.sum() + negatives.sum()
    as_positive, as_negative = costs(matrix)
    pull, push = as_positive.weighted(positives), as_negative.weighted(negatives)
    active = pull.active + push.active
    over = divisor(reduction, count, active)
    derivative = pull.slope.sub_(push.slope)
    terms = []
    if boundary is not None and boundary.requires_grad:
        terms = [(boundary, -derivative.sum(1, keepdim=True) / over)]
    value = geometry.finish((pull.total + push.total) / over, derivative, *terms, over=over)
    return value, active / count.clamp(min=1)


def each_pair(
    costs: Costs, geometry: Geometry, labels: Tensor, tuples: Form, boundary: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Each pair's loss and how often it counts, (T,) both; differentiable by autograd.

    Without tuples a pair is either positive or negative, T = N^2; of given tuples it may be both, T = 2 N^2.
    """
    matrix = geometry.attached() if boundary is None else geometry.attached() - boundary
    as_positive, as_negative = (cost.each() for cost in costs(matrix))
    positives, negatives = pair_weights(labels, tuples, matrix.dtype)
    if tuples is None:
        return torch.lerp(as_negative, as_positive, positives).flatten(), (positives + negatives).flatten()
    return torch.cat((as_positive, as_negative)).flatten(), torch.cat((positives, negatives)).flatten()
