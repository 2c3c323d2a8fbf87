"""Networks as blocks in their order.

A backbone that can be divided states its blocks by a method `blocks_in_order`. One block after another gives what its
`forward` gives, in training and in evaluation; `dml.models.FromBlock` keeps all of them in the same mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn


@dataclass(frozen=True)
class Block:
    """One block of a backbone."""

    name: str  # of the module in its network, such as `layer4.1`
    module: nn.Module  # of the backbone, or one without parameters for what a `forward` computes itself
    pools: bool = False  # the pooling of the last maps: (N, C, H, W) -> (N, C, 1, 1) or (N, C)


@runtime_checkable
class Divisible(Protocol):
    """A backbone that states its blocks."""

    def blocks_in_order(self) -> list[Block]:
        """Its blocks. Their composition is `forward`. Raises ValueError if this network cannot be divided."""
        ...


Steps = Sequence[str | Block]
"""The names of a network's children in the order of its `forward`, and what that computes itself."""


class MeanOverSpace(nn.Module):
    """maps (N, C, H, W) -> (N, C)."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean((2, 3))


MEAN = Block("avgpool", MeanOverSpace(), pools=True)
AVERAGE = Block("avgpool", nn.AdaptiveAvgPool2d((1, 1)), pools=True)
FLATTEN = Block("flatten", nn.Flatten())
RELU = Block("relu", nn.ReLU())


def in_order(network: nn.Module, steps: Steps) -> list[Block]:
    """The blocks of a network: each step, and of a sequence (`nn.Sequential`) each part, those inside included."""
    found: list[Block] = []
    for step in steps:
        found += [step] if isinstance(step, Block) else _parts(step, network.get_submodule(step))
    return found


def by_class(network: nn.Module, known: Mapping[str, Steps]) -> list[Block]:
    """The blocks of another package's network, by the name of its class. Raises as `refuse` if it is not known."""
    for kind in type(network).__mro__:
        if kind.__name__ in known:
            return in_order(network, known[kind.__name__])
    raise refuse(type(network).__name__)


def refuse(name: str) -> ValueError:
    """The error for a network that cannot be divided."""
    return ValueError(
        f"{name} cannot be divided into blocks. Choices: the backbones small_conv, eps_mnist, mlp, inception_bn, "
        "mobilenet_v1 and efficientnet_lite0; torchvision's AlexNet, ConvNeXt, DenseNet, EfficientNet, MNASNet, "
        "MobileNet, RegNet, ResNet, ShuffleNet, SqueezeNet and VGG; timm's EfficientNet (also Lite), MobileNet and "
        "ResNet"
    )


def dropout(rate: float) -> list[Block]:
    """Dropout that a `forward` computes itself, if its rate is above 0."""
    return [Block("dropout", nn.Dropout(rate))] if rate else []


def _parts(name: str, module: nn.Module) -> Iterable[Block]:
    if type(module) is not nn.Sequential:
        return [Block(name, module, _pools(module))]
    return [part for child, inner in module.named_children() for part in _parts(f"{name}.{child}", inner)]


def _pools(module: nn.Module) -> bool:
    """Whether a module pools whole maps: torch's average, or timm's class of poolings."""
    average = isinstance(module, nn.AdaptiveAvgPool2d) and module.output_size in (1, (1, 1))
    return average or type(module).__name__ == "SelectAdaptivePool2d"


def paths(network: nn.Module, modules: Iterable[nn.Module]) -> list[str]:
    """The name of each of these modules in a network. The name leads to the module that replaces one later."""
    known = {module: path for path, module in network.named_modules()}
    return [known[module] for module in modules]


def blocks(backbone: Any) -> list[Block]:
    """The blocks of a backbone in their order.

    Raises
    ------
    ValueError : it cannot be divided; the message says which can.
    """
    if not isinstance(backbone, Divisible):
        raise refuse(f"the backbone {type(backbone).__name__}")
    return backbone.blocks_in_order()
