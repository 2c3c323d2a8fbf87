"""The two statements of each cost agree: `weighted` is the sum of `each`, with the slope that autograd finds."""

from __future__ import annotations

import pytest
import torch

from dml.losses._costs import HalfSquare, Hinge, Linear


@pytest.mark.parametrize("cost", [Linear, Hinge, HalfSquare])
def test_weighted_is_the_sum_of_each(cost):
    g = torch.Generator().manual_seed(0)
    gap = torch.randn(9, 9, generator=g, dtype=torch.float64)
    gap = gap.abs() if cost is Linear else gap
    weights = torch.randint(3, (9, 9), generator=g).double()
    leaf = gap.clone().requires_grad_()
    each = cost(leaf).each()
    (weights * each).sum().backward()
    total, slope, active = cost(gap.clone()).weighted(weights.clone())
    torch.testing.assert_close(total, (weights * each).sum().detach())
    torch.testing.assert_close(slope, leaf.grad)
    assert active == weights[each > 0].sum()
