"""Embedding: order, precision, modes."""

import pytest
import torch
from torch import nn

from dml.evaluation import embed


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5))


def test_batches_in_order_whatever_their_size():
    images = torch.randn(23, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    model = network().eval()
    for size in (1, 7, 23):
        found = embed(model, images.split(size), 23)
        torch.testing.assert_close(found, model(images).detach())
        assert not found.requires_grad


def test_the_model_is_left_in_its_mode_and_its_statistics_alone():
    model = network().train()
    before = model[2].running_mean.clone()
    embed(model, torch.randn(8, 3, 2, 2).split(4), 8)
    assert model.training
    assert model[2].training
    torch.testing.assert_close(model[2].running_mean, before)


def test_mixed_precision_gives_float32_near_the_exact():
    images, model = torch.randn(9, 3, 2, 2, generator=torch.Generator().manual_seed(1)), network()
    half, full = (embed(model, images.split(4), 9, precision=p) for p in ("bfloat16", "float32"))
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, full, atol=0.05, rtol=0.05)
    assert (half != full).any()


@pytest.mark.parametrize(
    ("model", "batches", "count", "precision", "message"),
    [
        (network(), [torch.ones(4, 3, 2, 2)], 4, "int8", "float32, bfloat16, float16.*'int8'"),
        (network(), torch.ones(6, 3, 2, 2).split(3), 4, "float32", "6 images, expected 4"),
        (network(), [torch.ones(3, 3, 2, 2)], 4, "float32", "3 images, expected 4"),
        (network(), [], 0, "float32", "0 images"),
        (nn.Identity(), [torch.ones(4, 3, 2)], 4, "float32", r"\(4, D\)"),
    ],
)
def test_errors(model, batches, count, precision, message):
    with pytest.raises(ValueError, match=message):
        embed(model, batches, count, precision=precision)
