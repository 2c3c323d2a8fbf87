"""The number of features, and pixels as features."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from dml import models
from dml.models._wrapped import SameConv2d, SameMaxPool2d, pad_as_tensorflow

timm = pytest.importorskip("timm")

# Those on the left say another `num_features` than the width of their output.
TIMM = [
    *("mobilenetv3_small_050", "mobilenetv4_conv_small_035", "lcnet_035", "ghostnet_050", "efficientvit_b0"),
    *("repghostnet_050", "fasternet_t0", "inception_next_atto", "mambaout_femto", "efficientvit_m0"),
    *("test_vit", "test_convnext", "test_efficientnet", "resnet10t"),
]


def check(network, channels, side, device="cpu"):
    """A network's features have the stated width, which its head takes."""
    images = torch.randn(2, channels, side, side, device=device)
    assert network.eval().backbone(images).shape == (2, network.backbone.features)
    assert network(images).shape == (2, 4)


@pytest.mark.parametrize("name", TIMM)
def test_of_timms_networks(name):
    check(models.build("timm", embedding_size=4, image_size=224, name=name, pretrained=False), 3, 224)


@pytest.mark.parametrize("pooling", ["catavgmax", "avgmax", "max"])
@pytest.mark.parametrize(("name", "channels", "side"), [("resnet10t", 1, 32), ("mobilenetv3_small_050", 3, 50)])
def test_of_another_pooling_of_timm(name, channels, side, pooling):
    settings = {"name": name, "pretrained": False, "arguments": {"global_pool": pooling}}
    check(models.build("timm", embedding_size=4, channels=channels, image_size=side, **settings), channels, side)


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "alexnet", "vgg11", "squeezenet1_1", "swin_t", "maxvit_t"])
def test_of_torchvisions_networks(name):
    with torch.device("meta"):
        network = models.build("torchvision", embedding_size=4, image_size=224, name=name, pretrained=False)
    check(network, 3, 224, "meta")


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


@pytest.mark.parametrize(("width", "name"), [(1.0, "mobilenetv1_100"), (1.25, "mobilenetv1_125")])
@pytest.mark.parametrize("padding", ["torch", "tensorflow"])
def test_against_timm(width, name, padding):
    timm = pytest.importorskip("timm")
    pad_type = {"torch": "", "tensorflow": "same"}[padding]
    theirs = timm.create_model(name, num_classes=0, in_chans=1, pad_type=pad_type)
    ours = models.find("mobilenet_v1")(channels=1, width=width, padding=padding)
    assert ours.features == theirs.num_features == 1024 * width
    ours.load_state_dict(theirs.state_dict(), strict=True)
    for side in (32, 45):
        images = torch.randn(2, 1, side, side)
        torch.testing.assert_close(ours.eval()(images), theirs.eval()(images))


def naive(image, kernel, stride, reduce):
    """One channel (H, W) -> the output of TensorFlow's SAME: ceil(size / stride) windows, more padding at the end."""
    height, width = (math.ceil(size / stride) for size in image.shape)
    before = [
        max((n - 1) * stride + kernel - size, 0) // 2 for n, size in zip((height, width), image.shape, strict=True)
    ]
    found = torch.empty(height, width)
    for row, column in itertools.product(range(height), range(width)):
        window = []
        for y, x in itertools.product(range(kernel), repeat=2):
            at = (row * stride + y - before[0], column * stride + x - before[1])
            inside = all(0 <= place < size for place, size in zip(at, image.shape, strict=True))
            window.append(image[at].item() if inside else None)
        found[row, column] = reduce(window)
    return found


@pytest.mark.parametrize("size", [(8, 8), (10, 6), (7, 9), (5, 8)])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (5, 2), (7, 2), (3, 3), (1, 2), (7, 4)])
def test_against_the_definition(size, kernel, stride):
    image = torch.randn(1, 1, *size, generator=torch.Generator().manual_seed(0))
    conv = nn.Conv2d(1, 1, kernel, stride=stride, padding=max(1, kernel // 2), bias=False)
    pool = nn.MaxPool2d(kernel, stride, padding=kernel // 2)
    layers = nn.Sequential(conv, pool)
    weights = conv.weight.detach().flatten().tolist()
    pad_as_tensorflow(layers)
    assert isinstance(layers[0], SameConv2d)
    assert layers[0].weight is conv.weight
    expected = naive(
        image[0, 0], kernel, stride, lambda seen: sum(w * (v or 0) for w, v in zip(weights, seen, strict=True))
    )
    torch.testing.assert_close(layers[0](image)[0, 0], expected)
    if kernel > 1:
        assert isinstance(layers[1], SameMaxPool2d)
        largest = naive(image[0, 0], kernel, stride, lambda seen: max(v for v in seen if v is not None))
        torch.testing.assert_close(layers[1](image)[0, 0], largest)
