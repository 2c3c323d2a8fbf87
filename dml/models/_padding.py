"""TensorFlow's padding, `SAME`, in networks of torch.

torch pads both sides of an image equally. TensorFlow pads as little as the stride needs, and one more after the image
than before it where the number is odd: at stride 2 and a kernel of 3, an even size gets none before and one after. The
two agree at stride 1. Source: "Notes on padding", https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2.
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.functional import pad

CHOICES = ("torch", "tensorflow")


class SameConv2d(nn.Conv2d):
    """A convolution whose input, of any size, is padded as in TensorFlow."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(pad_same(images, self.kernel_size, self.stride, self.dilation, 0.0))


class SameMaxPool2d(nn.MaxPool2d):
    """A max pool whose input, of any size, is padded as in TensorFlow."""

    def forward(self, images: Tensor) -> Tensor:
        size, stride = _two(self.kernel_size), _two(self.stride)
        return super().forward(pad_same(images, size, stride, _two(self.dilation), -math.inf))


def pad_same(
    images: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], value: float
) -> Tensor:
    """images (N, C, H, W) padded for an output of (ceil(H / stride), ceil(W / stride)) pixels."""
    sides: list[int] = []
    for axis in (1, 0):  # `pad` begins with the last dimension
        size = images.shape[2 + axis]
        needed = (-(-size // stride[axis]) - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1 - size
        sides += [max(needed, 0) // 2, max(needed, 0) - max(needed, 0) // 2]
    return pad(images, sides, value=value)


def pad_as_tensorflow(network: nn.Module) -> None:
    """Replace the layers of `network` that pad and have a stride above 1. Names and weights stay the same."""
    for parent in list(network.modules()):
        for name, layer in list(parent.named_children()):
            same = _same(layer)
            if same is not None:
                setattr(parent, name, same)


def check_padding(padding: str, label: str) -> None:
    """Raise a ValueError for an unknown kind of padding."""
    if padding not in CHOICES:
        raise ValueError(f"{label}: padding: {padding!r}. Choices: {', '.join(CHOICES)}")


def _same(layer: nn.Module) -> nn.Module | None:
    """The layer that pads as in TensorFlow, in place of one that pads and has a stride."""
    if isinstance(layer, nn.Conv2d) and max(layer.stride) > 1 and not isinstance(layer.padding, str):
        if not any(layer.padding):
            return None
        same = SameConv2d(
            layer.in_channels,
            layer.out_channels,
            layer.kernel_size,  # type: ignore[arg-type]
            layer.stride,  # type: ignore[arg-type]
            dilation=layer.dilation,  # type: ignore[arg-type]
            groups=layer.groups,
            bias=layer.bias is not None,
            device="meta",  # the weights follow
        )
        same.weight, same.bias = layer.weight, layer.bias
        return same
    if isinstance(layer, nn.MaxPool2d) and max(_two(layer.stride)) > 1 and any(_two(layer.padding)):
        return SameMaxPool2d(layer.kernel_size, layer.stride, dilation=layer.dilation)
    return None


def _two(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)
