"""Smooth top-R on batches that can be counted by hand."""

import torch

from dml.filters._ranking import SmoothTopR


def test_a_sample_at_the_threshold_is_left_out():
    keep = SmoothTopR(0.5, window=2)
    assert keep(torch.tensor([0.1, 0.5, 0.9])).tolist() == [False, False, True]
    assert keep(torch.tensor([0.4, 0.5, 0.6])).tolist() == [False, False, True]


def test_the_threshold_is_the_mean_of_the_last_batches_quantiles():
    keep = SmoothTopR(0.5, window=2)
    keep(torch.tensor([0.0, 0.0, 0.0]))
    assert keep(torch.tensor([0.1, 0.5, 0.9])).tolist() == [False, True, True]  # above 0.25
    assert keep(torch.tensor([0.3, 0.7, 0.9])).tolist() == [False, True, True]  # above 0.6, the first is forgotten
