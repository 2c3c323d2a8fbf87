"""A network of another package as a backbone, and TensorFlow's padding, `SAME`, in networks of torch.

TensorFlow pads as little as the stride needs, one more after the image than before it where the number is odd; at
stride 1 the two agree. Source: "Notes on padding", https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.modules.batchnorm import _BatchNorm

from dml.discovery import installed
from dml.files import first_line
from dml.types import Resize

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


class Wrapped(nn.Module):
    """images (N, C, H, W) -> (N, features), by a network without its classifier. Raises ValueError."""

    file_settings: ClassVar[Sequence[str]] = ("weights",)
    inner: ClassVar[str] = "network"

    def __init__(self, network: nn.Module, label: str, channels: int, side: int, frozen_batch_norm: bool):
        super().__init__()
        self.network, self.frozen_batch_norm = network, frozen_batch_norm
        self.side, self.features = side, width_of(network, label, channels, side, side)
        self.train()

    @classmethod
    @abstractmethod
    def trained_on(cls, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """`mean` and `std` of the pixels for the weights, if they are known."""

    @classmethod
    @abstractmethod
    def resized_to(cls, settings: Mapping[str, Any]) -> Resize | None:
        """The pixels for which the weights were trained, if they are known."""

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Always 3."""
        return 3

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """The settings `mean` and `std`, else those of the weights; None without weights."""
        return pixel_statistics(cls.trained_on(settings) if loads_weights(settings) else None, settings)

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """Those of the weights of this name, also for weights from a file; None without weights."""
        return cls.resized_to(settings) if loads_weights(settings) else None

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with `pretrained` off and without a file of weights."""
        return {**without_file(settings), "pretrained": False}

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.frozen_batch_norm:
            freeze_batch_norm(self.network)
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)


def inside(backbone: Any) -> nn.Module:
    """The network in a backbone, whose modules are named as the weights are."""
    while hasattr(backbone, "inner"):
        backbone = backbone.get_submodule(backbone.inner)
    return backbone


def black(network: Any, shape: Sequence[int]) -> Tensor:
    """(1, C, H, W) zeros, where a network's parameters are."""
    one = next(network.parameters(), torch.empty(0))
    return torch.zeros(1, *shape, device=one.device, dtype=one.dtype)


def without_memory(work: Callable[[], Any]) -> Any:
    """What building and running networks gives: without memory for their weights, if they can run so."""
    try:
        with torch.device("meta"):
            return work()
    except Exception:
        return work()


def width_of(network: nn.Module, label: str, channels: int, height: int, width: int) -> int:
    """D of a network's result (N, D) for a black image: networks often state the width before their last layers."""
    try:
        with torch.no_grad():
            result = network.eval()(black(network, (channels, height, width)))
    except Exception as error:  # of another package, in its own words
        raise ValueError(f"{label} takes no images of {height} x {width} pixels: {first_line(error)}") from error
    shape = tuple(getattr(result, "shape", ()))
    if len(shape) != 2:
        got = shape or type(result).__name__
        raise ValueError(f"{label}: expected a result of shape (N, features), got {got}: choose a pooling")
    return shape[1]


def loads_weights(settings: Mapping[str, Any]) -> bool:
    """Whether a wrapped network has weights that are not random."""
    return settings.get("weights") is not None or settings.get("pretrained", True)


def without_file(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a backbone without its file of weights."""
    return {name: value for name, value in settings.items() if name != "weights"}


def check_package(package: str, label: str, extra: str | None) -> None:
    """Raise a ValueError unless a package is installed. `extra`: the one of `dml` that installs it, if any."""
    if not installed(package):
        what = package if extra is None else f"-c constraints.txt -e '.[{extra}]'"
        raise ValueError(f"{label} needs the package {package}: pip install {what}")


def pixel_statistics(defaults: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> dict[str, list[float]] | None:
    """Statistics of the pixels: the settings `mean` and `std`, else the defaults; None without either."""
    given = {name: settings[name] for name in ("mean", "std") if settings.get(name) is not None}
    if defaults is None and len(given) == 1:
        mean, std = settings.get("mean"), settings.get("std")
        raise ValueError(f"mean and std go together: give both or neither, got mean {mean!r} and std {std!r}")
    statistics = {**(defaults or {}), **given}
    return {k: [v] if isinstance(v, int | float) else list(v) for k, v in statistics.items()} or None


def freeze_batch_norm(network: nn.Module) -> None:
    """Put each batch norm of `network` in evaluation mode and exclude its parameters from training."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
            module.requires_grad_(False)


class Untrained:
    """Class members of `dml.protocols.Backbone` for a backbone without pretrained weights."""

    version: ClassVar[int] = 1
    packages: ClassVar[Sequence[str]] = ()
    file_settings: ClassVar[Sequence[str]] = ()

    @classmethod
    def channels_for(cls, channels: int) -> int:
        """Returns `channels`: images keep their channels."""
        return channels

    @classmethod
    def statistics(cls, **settings: Any) -> dict[str, list[float]] | None:
        """Returns None: no weights expect particular statistics."""
        return None

    @classmethod
    def pixels(cls, **settings: Any) -> Resize | None:
        """Returns None: no weights were trained at a particular size."""
        return None

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Returns `settings`: nothing is fetched."""
        return dict(settings)

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Does nothing: no package is needed."""


PADDINGS = ("torch", "tensorflow")


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
