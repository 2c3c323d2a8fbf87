"""PRISM, with plain and with von Mises-Fisher distributions, against loops in float64."""

import numpy as np
import pytest
import torch
from scipy.special import ive

from dml.filters import Prism, PrismVmf
from dml.filters.memories import log_bessel

SETTINGS = [
    {"rate": 0.3, "memory": 60, "window": 4, "warm_up": 0},
    {"rate": 0.5, "memory": 30, "window": 30, "warm_up": 5},
    {"rate": 0.1, "memory": 9, "window": 1, "warm_up": 1},  # fewer than a batch
    {"rate": 0.9, "memory": 500, "window": 3, "warm_up": 2},
    {"rate": 0.0, "memory": 60, "window": 4, "warm_up": 0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_definition(settings, tools):
    keep, naive = Prism(5, 6, **settings), tools.Naive("prism", **settings)
    for number, (embeddings, labels, _) in enumerate(tools.noisy_batches(20)):
        assert keep(embeddings, labels).tolist() == naive(embeddings, labels), number
    assert naive.closest > 1e-6  # no sample was decided by rounding


def test_what_it_leaves_out_is_wrong(tools):
    keep = Prism(5, 6, rate=0.3, memory=200, warm_up=10)
    hits = [(~keep(e, y), wrong) for e, y, wrong in tools.noisy_batches(60)][20:]
    left_out, wrong = (torch.cat(parts) for parts in zip(*hits, strict=True))
    assert (left_out & wrong).sum() / left_out.sum() > 0.9
    assert (left_out & wrong).sum() / wrong.sum() > 0.9


def test_if_none_is_above_the_threshold_the_batch_decides(tools):
    settings = {"rate": 0.5, "memory": 60, "window": 30, "warm_up": 1}
    keep, naive = Prism(5, 6, **settings), tools.Naive("prism", **settings)
    batches = list(tools.noisy_batches(8, rate=0.0))
    worst = batches[-1][0], (batches[-1][1] + 1) % 5  # every label is wrong
    for embeddings, labels, _ in batches:
        assert keep(embeddings, labels).tolist() == naive(embeddings, labels)
    kept = keep(*worst)
    assert kept.tolist() == naive(*worst)
    assert kept.sum() == 12


SETTINGS_PRISM_VMF = [
    {"rate": 0.3, "memory": 60, "window": 4, "warm_up": 1},
    {"rate": 0.6, "memory": 40, "window": 30, "warm_up": 5},
]


@pytest.mark.parametrize("settings", SETTINGS_PRISM_VMF, ids=str)
def test_definition_of_prism_vmf(settings, tools):
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
