"""Pixels of reduced images, against means over areas in NumPy."""

import numpy as np
import pytest
import torch

from dml import models


def test_areas_of_an_image_become_their_means():
    images = torch.rand(3, 2, 64, 128, generator=torch.Generator().manual_seed(0))
    part = models.Pixels(channels=2, image_size=64)
    expected = images.numpy().reshape(3, 2, 32, 2, 32, 4).mean(axis=(3, 5)).reshape(3, -1)
    np.testing.assert_allclose(part(images), expected, rtol=1e-5)
    assert part.features == expected.shape[1]


@pytest.mark.parametrize(("size", "shape"), [(8, (8, 8)), (28, (28, 40)), (40, (40, 28)), (None, (50, 20))])
def test_images_of_any_shape_have_as_many_features_as_stated(size, shape):
    part = models.Pixels(channels=1, image_size=size)
    images = torch.rand(2, 1, *shape)
    assert part(images).shape == (2, part.features)
    if shape == (8, 8):
        assert torch.equal(part(images), images.flatten(1))
