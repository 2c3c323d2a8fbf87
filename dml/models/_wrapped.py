"""A network of another package as a backbone, with frozen batch norm as an option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from dml.discovery import installed
from dml.files import first_line

IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


class Wrapped(nn.Module):
    """images (N, C, H, W) -> (N, features), by a network without its classifier.

    The constructor of a subclass takes `pretrained`, which says whether weights are fetched, and `weights`, a file.

    Parameters
    ----------
    network : the network.
    label : for messages, such as `backbone 'timm': resnet50`.
    channels, side : of the images.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).

    Raises
    ------
    ValueError : as `width_of`.
    """

    file_settings: ClassVar[Sequence[str]] = ("weights",)
    inner: ClassVar[str] = "network"

    def __init__(self, network: nn.Module, label: str, channels: int, side: int, frozen_batch_norm: bool):
        super().__init__()
        self.network, self.frozen_batch_norm = network, frozen_batch_norm
        self.side, self.features = side, width_of(network, label, channels, side, side)
        self.train()

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with `pretrained` off and without a file of weights."""
        return {**without_file(settings), "pretrained": False}

    @classmethod
    def check_installed(cls, settings: Mapping[str, Any]) -> None:
        """Does nothing: torch and torchvision are always installed."""

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
    """D of a network's result (N, D), for one black image in evaluation mode. What networks state of themselves is
    often the width before their last layers.

    Raises
    ------
    ValueError : the network takes no images of this size, or its result has another shape.
    """
    try:
        with torch.no_grad():
            found = network.eval()(black(network, (channels, height, width)))
    except Exception as error:  # of another package, in its own words
        raise ValueError(f"{label} takes no images of {height} x {width} pixels: {first_line(error)}") from error
    shape = tuple(getattr(found, "shape", ()))
    if len(shape) != 2:
        got = shape or type(found).__name__
        raise ValueError(f"{label}: expected a result of shape (N, features), got {got}: choose a pooling")
    return shape[1]


def without_file(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a backbone without its file of weights."""
    return {name: value for name, value in settings.items() if name != "weights"}


def check_package(package: str, label: str, extra: str | None) -> None:
    """Raise a ValueError unless a package is installed. `extra`: the one of `dml` that installs it, if any."""
    if not installed(package):
        what = package if extra is None else f"-c constraints.txt -e '.[{extra}]'"
        raise ValueError(f"{label} needs the package {package}: pip install {what}")


def own_statistics(known: Mapping[str, Any] | None, mean: Any, std: Any) -> dict[str, list[float]] | None:
    """Statistics of the pixels: those that a study sets, else the known ones; None without either.

    Raises
    ------
    ValueError : only one of `mean` and `std` is set, and the other is not known.
    """
    if mean is None and std is None:
        return None if known is None else {"mean": list(known["mean"]), "std": list(known["std"])}
    if known is None and (mean is None or std is None):
        raise ValueError(f"mean and std go together: give both or neither, got mean {mean!r} and std {std!r}")
    given = {**(known or {}), **{k: v for k, v in (("mean", mean), ("std", std)) if v is not None}}
    return {name: [value] if isinstance(value, int | float) else list(value) for name, value in given.items()}


def freeze_batch_norm(network: nn.Module) -> None:
    """Put each batch norm of `network` in evaluation mode and exclude its parameters from training."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
            module.requires_grad_(False)
