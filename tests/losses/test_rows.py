"""Rows of unit length and their gradients."""

import pytest
import torch

from dml.losses._forms import unit


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_of_subnormal_numbers_counts_as_zero(dtype):
    """The inverse of its length is beyond the largest number."""
    tiny = torch.finfo(dtype).tiny
    x = torch.tensor([[tiny / 8, -tiny / 16], [tiny, 0.0], [3.0, 4.0]], dtype=dtype, requires_grad=True)
    rows = unit(x)
    torch.testing.assert_close(rows.detach(), torch.tensor([[0, 0], [1, 0], [0.6, 0.8]], dtype=dtype))
    (gradient,) = torch.autograd.grad(rows.square().sum() + rows[:, 0].sum(), x)
    assert torch.isfinite(gradient).all()
    assert gradient[0].tolist() == [0, 0]
