"""Random crops and flips, with torchvision as the reference."""

import pytest
import torch
from augmenting import make_images, seeded
from torchvision.transforms.v2 import functional as F

from dml.data.augment import build
from dml.data.augment._ops import random_crop_flip


@pytest.mark.parametrize(("name", "size"), [("crop224", 224), ("crop227", 227)])
def test_the_central_crop_is_torchvisions(name, size):
    images = make_images()
    result = build(name, normalization="none")(images, False, None)
    torch.testing.assert_close(result, F.center_crop(images, [size, size]).float() / 255)


def test_each_image_has_its_own_random_crop():
    images = make_images(count=200, height=9, width=11)
    crops = random_crop_flip(images, 7, seeded())
    places = set()
    for image, crop in zip(images, crops, strict=True):
        windows = {(y, x): image[:, y : y + 7, x : x + 7] for y in range(3) for x in range(5)}
        found = [(*at, f) for at, w in windows.items() for f in (0, 1) if torch.equal(w.flip(-1) if f else w, crop)]
        assert len(found) == 1
        places.add(found[0])
    assert len(places) == 30


def test_half_of_the_images_are_mirrored():
    images = make_images(count=1000, height=4, width=4)
    result = torch.stack(list(random_crop_flip(images, 4, seeded())))
    mirrored = (result == images.flip(-1)).flatten(1).all(1)
    assert (mirrored | (result == images).flatten(1).all(1)).all()
    assert 430 < mirrored.sum() < 570


def test_a_crop_larger_than_the_images_says_how_to_pack():
    with pytest.raises(ValueError, match=r"crop of 227 x 227 needs.*got 100 x 300; pack them with `resize: 256`"):
        build("crop227")(make_images(height=100, width=300), True, seeded())
