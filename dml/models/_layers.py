"""The layers of a network: the chain of its blocks, as one image goes through it, and what several of them give.

Which modules are blocks is seen, not listed: each module gets a copy of its input, so that autograd tells on which of
the copies later inputs depend. A block is any module whose input is all that the modules after it know of an image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from dml.models._wrapped import black, inside
from dml.protocols import Backbone

IMAGE = -1  # the image, where others are numbers of calls
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
LAST = "last layer"
INNER = 3  # layers below the last one, at most
POWER = 3.0  # of the generalised mean, where Radenovic et al. (TPAMI 2019) start to learn it


@dataclass
class Call:
    """A call of a module, while a network embeds one image."""

    name: str
    module: nn.Module
    sources: set[int]  # the earlier calls on whose inputs its own input depends
    given: Tensor | None  # its input, if that is a tensor that depends on the image
    returned: int = 0  # the number of calls that began before it returned
    result: Any = None


class Layers(nn.Module):
    """images (N, C, H, W) -> (N, features): what a network gives without training, from several layers in one pass.

    Side by side, each part of unit length: the backbone's features; its last maps by their generalised mean, or tokens
    by their mean; and the means of at most three layers below, each the last one of its shape. Where all have one
    shape, as in Vision Transformers, they are those at half and three quarters of the depth.

    `shape`: (C, H, W) of the images, which are square. `widths` of the parts, by name: `last layer`, `last layer, GeM`,
    `before conv_head`; only the first of a network that cannot be divided into blocks.
    """

    version: ClassVar[int] = 1  # of which layers there are, and their pooling
    last: ClassVar[str] = LAST
    inner = "backbone"

    def __init__(self, backbone: Backbone, shape: Sequence[int]):
        super().__init__()
        self.backbone, self.widths = backbone, {LAST: int(backbone.features)}
        self._pooled: dict[str, Tensor] = {}
        for name, module, axes, width in _pooled(backbone, shape):
            self.widths[name] = width
            keep = partial(self._keep, name=name, axes=axes)
            inside(backbone).get_submodule(module).register_forward_pre_hook(keep)
        self.features = sum(self.widths.values())

    def _keep(self, module: nn.Module, inputs: tuple[Any, ...], name: str, axes: tuple[int, ...]) -> None:
        given = inputs[0].float()
        mean = given.clamp(min=1e-6).pow(POWER).mean(axes).pow(1 / POWER) if name.endswith("GeM") else given.mean(axes)
        self._pooled[name] = mean

    def forward(self, images: Tensor) -> Tensor:
        features = {LAST: self.backbone(images), **self._pooled}
        self._pooled = {}
        return torch.cat([functional.normalize(features[name].float()) for name in self.widths], dim=1)


def _pooled(backbone: Backbone, shape: Sequence[int]) -> list[tuple[str, str, tuple[int, ...], int]]:
    """The layers to pool: (name of the part, module whose input it is, axes of space, width)."""
    calls, ends = follow(backbone, black(backbone, shape))
    maps = []
    for call in listed(backbone, calls, ends):
        assert call.given is not None
        axes = _axes_of_space(call.given.shape)
        if axes and tuple(call.given.shape[1:]) != tuple(shape):
            width = next(call.given.shape[axis] for axis in range(1, call.given.ndim) if axis not in axes)
            maps.append((call.name, axes, int(width), tuple(call.given.shape)))
    if not maps:
        return []
    last, kinds = maps[-1], [list(group) for _, group in groupby(maps, key=lambda one: one[-1])]
    inner = [group[-1] for group in kinds[:-1]][-INNER:]
    if not inner:
        inner = [maps[len(maps) // 2], maps[3 * len(maps) // 4]] if len(maps) > 4 else []
    below = [(f"before {name}", name, axes, width) for name, axes, width, _ in inner]
    name, axes, width, _ = last
    if width == backbone.features:
        return [(f"{LAST}, {'GeM' if len(axes) == 2 else 'mean'}", name, axes, width), *below]
    return [*below, (f"before {name}", name, axes, width)]


def _axes_of_space(shape: Sequence[int]) -> tuple[int, ...]:
    """Those of (N, C, H, W), (N, H, W, C) and (N, T, C) of a square image; none of (N, C)."""
    if len(shape) == 3:
        return (1,)
    if len(shape) != 4 or 1 in shape[1:]:
        return ()
    return (2, 3) if shape[2] == shape[3] else (1, 2) if shape[1] == shape[2] else ()


def blocks(backbone: Any, shape: Sequence[int]) -> list[str]:
    """The names of a backbone's blocks in their order, of a network for images of `shape` (C, H, W).

    They are the network's own children and elements of `nn.Sequential` or of lists, in which others are not named.
    """
    return [call.name for call in listed(backbone, *follow(backbone, black(backbone, shape)))]


def follow(backbone: Any, image: Tensor) -> tuple[list[Call], set[int]]:
    """The modules that a backbone calls for an image, and the calls on whose inputs its result depends."""
    names = {part: name for name, part in inside(backbone).named_modules() if name}
    calls: list[Call] = []
    copies: dict[int, int] = {}  # by the identity of a copied input, its call
    kept: list[Tensor] = []  # identities are not used again while these live
    open_calls: list[Call] = []

    def copied(tensor: Tensor, number: int) -> Tensor:
        kept.append(tensor.detach().requires_grad_())
        copies[id(kept[-1])] = number
        return kept[-1].clone()  # which a module may change

    def before(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        sources = _sources(inputs[0], copies) if inputs else set()
        calls.append(Call(names[module], module, sources, inputs[0].detach() if sources else None))
        open_calls.append(calls[-1])
        return (copied(inputs[0], len(calls) - 1), *inputs[1:]) if sources else inputs

    def after(module: nn.Module, inputs: tuple[Any, ...], result: Any) -> None:
        call = open_calls.pop()
        call.returned, call.result = len(calls), result

    hooks = [
        hook for part in names for hook in (part.register_forward_pre_hook(before), part.register_forward_hook(after))
    ]
    try:
        with torch.enable_grad():
            result = backbone.eval()(copied(image, IMAGE))
    finally:
        for hook in hooks:
            hook.remove()
        backbone.train()  # some networks keep in evaluation mode what they have computed
    return calls, _sources(result, copies)


def _sources(value: Any, copies: Mapping[int, int]) -> set[int]:
    """The numbers of the copied inputs on which a tensor depends, back to the last copy on each way."""
    numbers, seen, steps = set(), set(), [value.grad_fn] if isinstance(value, Tensor) else []
    while steps:
        step = steps.pop()
        if step is None or step in seen:
            continue
        seen.add(step)
        number = copies.get(id(getattr(step, "variable", None)))
        if number is not None:
            numbers.add(number)
        steps += [earlier for earlier, _ in step.next_functions]
    return numbers


def dividing(calls: Sequence[Call], ends: set[int]) -> list[int]:
    """The calls whose input is all that later calls, and the result, know of the image."""
    often, numbers, earliest = Counter(call.module for call in calls), [], min(ends, default=IMAGE)
    for number in reversed(range(len(calls))):
        if calls[number].given is not None and often[calls[number].module] == 1 and earliest >= number:
            numbers.append(number)
        earliest = min([earliest, *calls[number].sources])
    return numbers[::-1]


def listed(backbone: Any, calls: Sequence[Call], ends: set[int]) -> list[Call]:
    """The dividing calls of the network's own children and of elements of containers."""
    modules = dict(inside(backbone).named_modules())

    def is_listed(name: str) -> bool:
        parent = name.rpartition(".")[0]
        return not isinstance(modules[name], (*CONTAINERS, nn.Identity)) and (
            not parent or isinstance(modules[parent], CONTAINERS)
        )

    return [calls[number] for number in dividing(calls, ends) if is_listed(calls[number].name)]
