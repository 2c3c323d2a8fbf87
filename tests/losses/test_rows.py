"""Rows of unit length and their gradients."""

import torch

from dml.losses._rows import unit_rows


def test_a_zero_row_stays_zero_and_gets_no_gradient():
    rows, inverse = unit_rows(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    assert rows.tolist() == [[0.0, 0.0], [0.6000000238418579, 0.800000011920929]]
    assert inverse[0].item() == 0
    assert abs(inverse[1].item() - 0.2) < 1e-7
