"""No augmentation, and the conversion to floats that all pipelines share."""

import numpy as np
import pytest
import torch
from augmenting import IMAGENET, make_images
from torchvision.transforms.v2 import functional as F

from dml.data.augment import build


def test_none_resizes_only_where_a_size_is_asked_for():
    images = make_images()
    result = build("none", image_size=20)(images, True, None)
    torch.testing.assert_close(result, F.resize(images, [20, 20], antialias=True).float() / 255)
    torch.testing.assert_close(build("none")(images, True, None), images.float() / 255)
    with pytest.raises(ValueError, match="image_size: expected at least 1 pixel, got 0"):
        build("none", image_size=0)


def test_grey_and_colour():
    colour, grey = make_images(), make_images(channels=1)
    one = build("none", channels=1)(colour, False, None)
    torch.testing.assert_close(one, F.rgb_to_grayscale(colour).float() / 255)
    three = build("none", channels=3, normalization="imagenet")(grey, False, None)
    torch.testing.assert_close(three, F.normalize(grey.float().expand(-1, 3, -1, -1) / 255, *IMAGENET))
    averaged = build("none", normalization="imagenet")(grey, False, None)
    torch.testing.assert_close(averaged, (grey.float() / 255 - np.mean(IMAGENET[0])) / np.mean(IMAGENET[1]))
