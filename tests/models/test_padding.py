"""TensorFlow's padding against its definition, pixel by pixel, and against timm's layers."""

import itertools
import math

import pytest
import torch
from torch import nn

from dml.models._wrapped import SameConv2d, SameMaxPool2d, pad_as_tensorflow


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
