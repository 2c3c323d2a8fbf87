"""Embedding: order, precision, modes."""

import numpy as np
import pytest
import torch
from torch import nn

from dml.evaluation import embed, embed_images


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


def test_parts_in_another_mode_than_the_model_are_left_in_it():
    images = torch.randn(8, 3, 2, 2)
    frozen = network().train()
    frozen[2].eval()
    embed(frozen, images.split(4), 8)
    assert (frozen.training, frozen[2].training) == (True, False)
    learning = network().eval()
    learning[2].train()
    before = learning[2].running_mean.clone()
    embed(learning, images.split(4), 8)
    assert (learning.training, learning[2].training) == (False, True)
    torch.testing.assert_close(learning[2].running_mean, before)


def test_mixed_precision_gives_float32_near_the_exact():
    images, model = torch.randn(9, 3, 2, 2, generator=torch.Generator().manual_seed(1)), network()
    half, full = (embed(model, images.split(4), 9, precision=p) for p in ("bfloat16", "float32"))
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, full, atol=0.05, rtol=0.05)
    assert (half != full).any()


def augment(images, training, generator=None):
    assert images.dtype == torch.uint8
    assert not training
    return images.float() / 255


PIXELS = np.random.default_rng(0).integers(256, size=(20, 2, 2, 3), dtype=np.uint8)


@pytest.mark.parametrize("batch", [1, 7, 512])
def test_images_of_an_array_in_the_order_of_rows(batch):
    model, rows = network().train(), np.array([5, 3, 19, 3])
    found = embed_images(model, PIXELS, rows, augment=augment, batch=batch)
    assert model.training
    model.eval()
    expected = model(torch.from_numpy(PIXELS[rows]).permute(0, 3, 1, 2).float() / 255)
    torch.testing.assert_close(found, expected.detach())
    everything = embed_images(model, PIXELS, augment=augment, batch=batch)
    torch.testing.assert_close(everything[rows], found)
