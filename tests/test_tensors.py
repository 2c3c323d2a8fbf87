"""Rows of unit length, and lists of rows of a batch."""

import pytest
import torch

from dml.losses._forms import unit
from dml.tensors import checked_rows, directions

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


@pytest.mark.parametrize("dtype", DTYPES)
def test_ordinary_rows_have_the_bits_of_torch(dtype):
    x = torch.randn(300, 7, generator=torch.Generator().manual_seed(1), dtype=dtype) * 1e-5
    assert torch.equal(directions(x), torch.nn.functional.normalize(x))
    x[3] *= 1e-20
    others = torch.arange(300) != 3
    assert torch.equal(directions(x)[others], torch.nn.functional.normalize(x)[others])


def test_lists_that_may_be_given():
    rows = [torch.tensor([0, 4, -1], dtype=dtype) for dtype in (torch.int8, torch.int32, torch.int64)]
    assert [found.tolist() for found in checked_rows(5, torch.device("cpu"), *rows)] == [[0, 4, -1]] * 3
    padding = torch.full((2,), -1)
    assert [found.tolist() for found in checked_rows(0, torch.device("cpu"), padding, padding)] == [[], []]
    assert [found.dtype for found in checked_rows(3, torch.device("cpu"), torch.zeros(0))] == [torch.int64]
