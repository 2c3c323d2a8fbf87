"""Rows of unit length, and lists of rows of a batch."""

import pytest
import torch

from dml.losses._forms import unit
from dml.tensors import directions

DTYPES = [torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_directions_are_those_of_losses_at_any_length(dtype):
    g = torch.Generator().manual_seed(0)
    rows = torch.randn(200, 5, generator=g, dtype=dtype)
    x = rows * torch.logspace(-37.0, 37.0, 200, dtype=dtype)[:, None]
    x[7], x[9] = 0, torch.finfo(dtype).tiny / 8  # counts as zero, since 1 / length is infinite
    expected = torch.nn.functional.normalize(rows.double())
    expected[[7, 9]] = 0
    for found in (directions(x), unit(x)):
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)
