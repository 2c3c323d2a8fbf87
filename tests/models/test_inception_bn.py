"""`inception_bn`, layer by layer, against the architecture as it is published."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dml import models

pytestmark = pytest.mark.slow

FIGURE_5 = """\
convolution 7x7/2         112x112x64
max pool 3x3/2            56x56x64
convolution 3x3/1         56x56x192     -    64  192
max pool 3x3/2            28x28x192
inception (3a)            28x28x256     64   64   64   64   96  avg + 32
inception (3b)            28x28x320     64   64   96   64   96  avg + 64
inception (3c) stride 2   28x28x576      0  128  160   64   96  max + pass through
inception (4a)            14x14x576    224   64   96   96  128  avg + 128
inception (4b)            14x14x576    192   96  128   96  128  avg + 128
inception (4c)            14x14x576    160  128  160  128  160  avg + 128
inception (4d)            14x14x576     96  128  192  160  192  avg + 128
inception (4e) stride 2   14x14x1024     0  128  192  192  256  max + pass through
inception (5a)            7x7x1024     352  192  320  160  224  avg + 128
inception (5b)            7x7x1024     352  192  320  192  224  max + 128
avg pool 7x7/1            1x1x1024
"""
"""Ioffe and Szegedy 2015, figure 5, as printed, without its column `depth`: type, output size, #1x1, #3x3 reduce, #3x3,
double #3x3 reduce, double #3x3, pool + projection. For a block of stride 2 it prints the side before the stride.
"""

WIDTHS = {"4c": 608, "4d": 608, "4e": 1056}
"""What the filters add up to where figure 5 prints another number of channels."""


def rows():
    """The blocks of figure 5: (name, side and channels of the result, the five filters, pooling, projection)."""
    for line in FIGURE_5.splitlines():
        if line.startswith("inception"):
            place = line[11:13]
            words = line[26:].split()
            side, _, width = map(int, words[0].split("x"))
            side //= 2 if "stride 2" in line else 1
            projection = 0 if words[-1] == "through" else int(words[-1])
            yield place, side, WIDTHS.get(place, width), [int(word) for word in words[1:6]], words[6], projection


def reference(network, images):
    """The features in plain functions, from the weights in the order of the table."""
    state = [value for name, value in network.state_dict().items() if "num_batches" not in name]
    layers = iter([state[i : i + 5] for i in range(0, len(state), 5)])

    def layer(x, stride=1):
        weight, scale, shift, mean, variance = next(layers)
        x = F.conv2d(x, weight, stride=stride, padding=weight.shape[2] // 2)
        x = (x - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt()
        return (x * scale[:, None, None] + shift[:, None, None]).clamp_min(0)

    x = F.max_pool2d(layer(images, 2), 3, 2, ceil_mode=True)
    x = F.max_pool2d(layer(layer(x)), 3, 2, ceil_mode=True)
    for _, _, _, (single, *_), pool, projection in rows():
        stride = 1 if single else 2
        branches = [layer(x)] if single else []
        branches += [layer(layer(x), stride), layer(layer(layer(x)), stride)]
        if pool == "avg":
            kernel = torch.full((x.shape[1], 1, 3, 3), 1 / 9, dtype=x.dtype)
            pooled = F.conv2d(x, kernel, padding=1, groups=x.shape[1])
        elif single:
            pooled = F.max_pool2d(x, 3, 1, padding=1)
        else:
            pooled = F.max_pool2d(x, 3, 2, ceil_mode=True)
        branches.append(layer(pooled) if projection else pooled)
        x = torch.cat(branches, 1)
    return x.mean((2, 3))


@pytest.mark.parametrize("channels", [1, 3])
def test_features_are_those_of_the_reference(channels):
    torch.manual_seed(0)
    network = models.InceptionBn(channels=channels).double()
    network(torch.randn(8, channels, 64, 64, dtype=torch.float64))  # moves the statistics from 0 and 1
    images = torch.randn(2, channels, 64, 64, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(network.eval()(images), reference(network, images))


@pytest.mark.parametrize("size", [7, 8, 28, 33, 80])
def test_images_of_any_size(size):
    network = models.InceptionBn(channels=1, image_size=size).eval()
    assert network(torch.randn(2, 1, size, size)).shape == (2, 1024)


def test_frozen_batch_norm_keeps_its_statistics():
    network = models.build("inception_bn", embedding_size=2, frozen_batch_norm=True)
    before = {name: value.clone() for name, value in network.state_dict().items() if "running" in name}
    network.train()(torch.randn(2, 3, 32, 32))
    assert all(torch.equal(network.state_dict()[name], value) for name, value in before.items())
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    assert len(norms) == 69
    assert not any(norm.weight.requires_grad for norm in norms)
