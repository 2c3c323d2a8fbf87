"""PRISM with von Mises-Fisher distributions against loops in float64 with scipy's Bessel functions."""

import numpy as np
import pytest
import torch
from scipy.special import ive

from dml.filters import PrismVmf
from dml.filters.prism_vmf import log_bessel

SETTINGS = [
    {"rate": 0.3, "memory": 60, "window": 4, "warm_up": 1},
    {"rate": 0.6, "memory": 40, "window": 30, "warm_up": 5},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_definition(settings, tools):
    keep, naive = PrismVmf(5, 6, **settings), tools.Naive("prism_vmf", **settings)
    for number, (embeddings, labels, _) in enumerate(tools.noisy_batches(15, rate=settings["rate"])):
        embeddings = embeddings + torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(number))
        assert keep(embeddings, labels).tolist() == naive(embeddings, labels), number
    assert naive.closest > 1e-6  # no sample was decided by rounding


@pytest.mark.parametrize("order", [0, 0.5, 1, 3, 7, 31, 63, 255, 1023])
def test_bessel_functions(order):
    x = torch.tensor([1e-4, 0.01, 1, 10, 300, 3e4, 2e5], dtype=torch.float64)
    with np.errstate(divide="ignore"):
        expected = np.log(ive(order, x.numpy())) + x.numpy()
    known = np.isfinite(expected)  # scipy's underflow
    assert known.any()
    found = log_bessel(order, x)
    assert torch.isfinite(found).all()
    np.testing.assert_allclose(found.numpy()[known], expected[known], rtol=1e-9, atol=1e-9)
