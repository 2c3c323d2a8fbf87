"""The lower and the upper blocks of a backbone, so that the upper ones can be trained on stored activations.

The upper blocks run in the network's own `forward`, in which the lower ones return what they returned for one image,
and the first upper one gets the activations.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from types import MethodType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from dml.discovery import suggestion
from dml.models._layers import Call, blocks, dividing, follow, listed
from dml.models._network import SIDE, build_backbone, find
from dml.models._wrapped import black, inside, without_memory
from dml.protocols import Backbone


class FromBlock(nn.Module):
    """activations (N, ...) before a block -> features (N, D). The lower blocks are evaluated, without gradients.

    `block` names a module or its beginning: `layer4` is the first of `layer4.0` and `layer4.1`. Raises ValueError if
    the backbone, which is changed, cannot be divided here, or if no block from this one on has parameters to train.
    """

    def __init__(self, backbone: Backbone, block: str, shape: Sequence[int]):
        super().__init__()
        self.backbone, self.features = backbone, backbone.features
        self._contiguous = self._copies = False
        self.image: Tensor
        self.register_buffer("image", black(self, shape), persistent=False)
        calls, ends = follow(backbone, self.image)
        number = _find(calls, ends, block, backbone)
        later = {call.module for call in calls[number:]}
        below = {call.name: call for call in calls[:number] if call.returned <= number and call.module not in later}
        paths = {module: path for path, module in self.named_modules()}
        self._first = paths[calls[number].module]
        self._below = [paths[call.module] for name, call in below.items() if not _above(name) & below.keys()]
        often = Counter(call.module for call in calls)
        for call in below.values():
            if paths[call.module] in self._below and isinstance(call.result, Tensor) and often[call.module] == 1:
                call.module.register_buffer("recorded", call.result.detach(), persistent=False)
                call.module.rows = None if call.given is None else len(call.given)  # type: ignore[assignment]
                call.module.forward = MethodType(_recall, call.module)  # type: ignore[method-assign]
        calls[number].module.register_forward_pre_hook(_begin)
        with torch.enable_grad():
            self._fix_what_is_below(calls[number].given, block)
        self.train()

    def _fix_what_is_below(self, given: Tensor | None, block: str) -> None:
        """Exclude parameters from training that the result does not depend on. `given`: the activations of an image."""
        assert given is not None
        two = torch.cat([given, given])
        two = two.to(memory_format=torch.channels_last) if two.ndim == 4 else two
        for self._contiguous, self._copies in ((False, False), (True, False), (True, True)):
            try:
                features = self.eval()(two)
            except RuntimeError:  # of a view of windows (N, H, W, C), or of a shape that has the number of images
                continue
            if features.shape == (2, self.features):
                break
        else:
            raise ValueError(f"the network cannot be divided before {block!r}, since its batches need their images")
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        depends = features.requires_grad
        gradients = torch.autograd.grad(features.sum(), trained, allow_unused=True) if depends else [None]
        if not any(gradient is not None for gradient in gradients):
            raise ValueError(f"no block from {block!r} on has weights to train: expected a lower one, or frozen: true")
        for parameter, gradient in zip(trained, gradients, strict=True):
            parameter.requires_grad_(gradient is not None)

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for path in self._below:
            self.get_submodule(path).eval()
        return self

    def forward(self, activations: Tensor) -> Tensor:
        first: Any = self.get_submodule(self._first)
        first.activations = activations.contiguous() if self._contiguous else activations
        try:
            return self.backbone(self.image.expand(len(activations) if self._copies else 1, -1, -1, -1))
        finally:
            first.activations = None


class _Reached(Exception):
    """The block is reached; its argument is the block's input."""


class BeforeBlock(nn.Module):
    """images (N, C, H, W) -> activations before a block, in evaluation mode."""

    def __init__(self, backbone: Backbone, block: str):
        super().__init__()
        self.backbone, self._block = backbone, block
        self.eval()

    def forward(self, images: Tensor) -> Tensor:
        def stop(module: nn.Module, inputs: tuple[Any, ...]) -> None:
            raise _Reached(inputs[0])

        modules = inside(self.backbone).named_modules()
        hooks = [part.register_forward_pre_hook(stop) for name, part in modules if _within(name, self._block)]
        try:
            self.backbone(images)
        except _Reached as reached:
            return reached.args[0]
        finally:
            for hook in hooks:
                hook.remove()
        names = blocks(self.backbone, images.shape[1:])
        raise ValueError(f"unknown block {self._block!r}{suggestion(self._block, names)}")


def check_block(backbone: str, settings: Mapping[str, Any], block: str) -> None:
    """Raise a ValueError unless a backbone can be trained from a block; one whose package is missing is not checked."""
    offline = _offline(backbone, settings)
    if offline is not None and (problem := _problem(backbone, offline, block)) is not None:
        raise ValueError(problem)


def has_layer_norm(backbone: str, settings: Mapping[str, Any]) -> bool:
    """Whether layer norm is all that normalises a network, as Vision Transformers, Swin and ConvNeXt."""
    offline = _offline(backbone, settings)
    return offline is not None and _has_layer_norm(backbone, offline)


def _offline(backbone: str, settings: Mapping[str, Any]) -> str | None:
    """The settings without weights, as JSON; None if the backbone's package is not installed."""
    offline = find(backbone).without_weights(dict(settings))
    try:
        find(backbone).check_installed(offline)
    except ValueError:
        return None
    return json.dumps(offline, sort_keys=True)


@cache
def _problem(backbone: str, settings: str, block: str) -> str | None:
    """Why a backbone cannot be trained from a block, at the size for which it is made."""

    def divide() -> None:
        made = _made(backbone, settings)
        side = getattr(made, "side", SIDE)
        FromBlock(made, block, (find(backbone).channels_for(3), side, side))

    try:
        without_memory(divide)
    except ValueError as error:
        return str(error)
    return None


@cache
def _has_layer_norm(backbone: str, settings: str) -> bool:
    layers = without_memory(lambda: list(_made(backbone, settings).modules()))
    return any(isinstance(m, nn.LayerNorm) for m in layers) and not any(isinstance(m, _BatchNorm) for m in layers)


def _made(backbone: str, settings: str) -> Any:
    """A backbone of the size for which it is made."""
    part = find(backbone)
    return build_backbone(
        backbone, part.channels_for(3), SIDE if getattr(part, "square", False) else None, **json.loads(settings)
    )


def _find(calls: Sequence[Call], ends: set[int], block: str, backbone: Any) -> int:
    """The number of the call that begins a block."""
    for number, call in enumerate(calls):
        if _within(call.name, block):
            if number in dividing(calls, ends):
                return number
            break
    names = [call.name for call in listed(backbone, calls, ends)]
    if not names:
        raise ValueError(
            f"the backbone {type(inside(backbone)).__name__} cannot be divided into blocks. Choices: any network that "
            "is a chain of blocks, such as ResNet, MobileNet, EfficientNet, ConvNeXt, ViT and Swin"
        )
    raise ValueError(f"unknown block {block!r}{suggestion(block, names)}")


def _within(name: str, block: str) -> bool:
    return f"{name}.".startswith(f"{block}.")


def _above(name: str) -> set[str]:
    """The names of the modules that contain a module."""
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def _begin(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A hook: the first upper block takes the activations."""
    return (module.activations, *inputs[1:])


def _recall(module: Any, *inputs: Any, **options: Any) -> Tensor:
    """In place of the `forward` of a lower block: what it returned for an image, for as many images."""
    times = 1 if module.rows is None else len(inputs[0]) // module.rows
    return module.recorded.repeat(times, *(1 for _ in module.recorded.shape[1:]))  # a copy, which may be changed
