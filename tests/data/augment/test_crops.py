"""Augmentations with torchvision as the reference."""

import numpy as np
import pytest
import torch
from augmenting import IMAGENET, make_images, seeded
from torchvision.transforms.v2 import RandomResizedCrop as Reference
from torchvision.transforms.v2 import functional as F

from dml.data.augment import RandomResizedCrop, build
from dml.data.augment.pipelines import each_resized_crop, random_crop_flip, resized_crop


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


def test_resized_boxes_are_torchvisions():
    images = make_images(count=6, height=40, width=52)
    boxes = [(0, 0, 40, 52), (3, 5, 20, 30), (0, 7, 40, 9), (11, 0, 5, 52), (39, 51, 1, 1), (8, 8, 32, 32)]
    given = images, torch.tensor(boxes, dtype=torch.float32), torch.arange(6) % 2 == 1, 32
    result = resized_crop(*given)
    torch.testing.assert_close(each_resized_crop(*given).float(), result, atol=1.01, rtol=0)  # it rounds twice
    for number, (top, left, height, width) in enumerate(boxes):
        box = images[number, :, top : top + height, left : left + width].float()
        mine = result[number].flip(-1) if number % 2 else result[number]
        torch.testing.assert_close(mine, F.resize(box, [32, 32], antialias=True), atol=0.02, rtol=0)


def test_boxes_lie_in_the_image_and_are_distributed_as_torchvisions():
    images = make_images(count=4000, channels=1, height=40, width=52)
    boxes = RandomResizedCrop()._boxes(images, seeded())
    top, left, height, width = boxes.unbind(1)
    assert (boxes == boxes.round()).all()
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (height >= 1).all()
    assert (width >= 1).all()
    assert (top + height <= 40).all()
    assert (left + width <= 52).all()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reference = Reference(224)
        drawn = [reference.make_params([images[0]]) for _ in range(4000)]
    for mine, key in ((top, "top"), (left, "left"), (height, "height"), (width, "width")):
        theirs = np.array([d[key] for d in drawn], dtype=float)
        quantiles = np.linspace(0.05, 0.95, 10)
        assert np.abs(np.quantile(mine.numpy(), quantiles) - np.quantile(theirs, quantiles)).max() <= 2


def test_random_resized_crop_of_the_whole_image_is_a_resize():
    images = make_images(height=48, width=48)
    pipeline = RandomResizedCrop(32, scale=(1.0, 1.0), ratio=(1.0, 1.0), normalization="none")
    result, plain = pipeline(images, True, seeded()), F.resize(images.float(), [32, 32], antialias=True) / 255
    for mine, theirs in zip(result, plain, strict=True):
        error = min((mine - theirs).abs().max(), (mine - theirs.flip(-1)).abs().max())
        assert error < 1.01 / 255
    with pytest.raises(ValueError, match="scale: expected 0 < low <= high <= 1"):
        build("random_resized_crop", scale=(0.5, 2.0))
