"""The lower and the upper blocks of a backbone, so that the upper ones can be trained on stored activations.

lower(backbone, "features.14")(images)           # activations of the blocks before `features.14`
FromBlock(backbone, "features.14")(activations)  # features (N, D)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self

import torch
from torch import Tensor, nn

from dml import discovery
from dml.discovery import suggestion
from dml.models._blocks import Block, blocks, paths
from dml.models._build import find
from dml.protocols import Backbone

SIDE = 64  # pixels of the images for which a network is built to know its blocks


class FromBlock(nn.Module):
    """activations (N, ...) before a block -> features (N, D).

    It contains the whole backbone. The lower blocks stay in evaluation mode, and their parameters get no gradients.

    Parameters
    ----------
    backbone : the network to divide. It is changed.
    block : see `divided`.

    Raises
    ------
    ValueError : as `divided`; or no block from this one on has parameters to train.
    """

    def __init__(self, backbone: Backbone, block: str):
        super().__init__()
        below, above = divided(backbone, block)
        _check_trainable(above, block)
        self.backbone, self.features = backbone, backbone.features
        own = set(self.modules())
        self.others = nn.ModuleList(part.module for part in above if part.module not in own)  # dropout has a mode too
        self._below = paths(self, (part.module for part in below if part.module in own))
        self._above = paths(self, (part.module for part in above))
        for path in self._below:
            self.get_submodule(path).requires_grad_(False)
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for path in self._below:
            self.get_submodule(path).eval()
        return self

    def forward(self, activations: Tensor) -> Tensor:
        for path in self._above:
            activations = self.get_submodule(path)(activations)
        return activations


def divided(backbone: Any, block: str) -> tuple[list[Block], list[Block]]:
    """The blocks before and from a block on.

    Parameters
    ----------
    block : the name of a block, or its beginning up to a dot: `layer4` is the first of `layer4.0` and `layer4.1`.

    Raises
    ------
    ValueError : the backbone cannot be divided, or has no such block; the message lists the choices.
    """
    found = blocks(backbone)
    place = _place([part.name for part in found], block)
    return found[:place], found[place:]


def lower(backbone: Backbone, block: str) -> nn.Module:
    """images (N, C, H, W) -> activations before a block, in evaluation mode. `block` and what is raised: `divided`."""
    return nn.Sequential(*(part.module for part in divided(backbone, block)[0])).eval()


def check_block(backbone: str, settings: Mapping[str, Any], block: str) -> None:
    """Check that a backbone has a block from which it can be trained. Builds it without memory for its weights.

    A backbone whose package is not installed is not checked: a study can be read without it.

    Raises
    ------
    ValueError : as `FromBlock`, or the backbone rejects its settings.
    """
    part = find(backbone)
    offline = part.without_weights(dict(settings))
    try:
        part.check_installed(offline)
    except ValueError:
        return
    found = _built(backbone, json.dumps(offline, sort_keys=True))
    _check_trainable(found[_place([part.name for part in found], block) :], block)


@cache
def _built(backbone: str, settings: str) -> tuple[Block, ...]:
    channels = find(backbone).channels_for(3)
    with torch.device("meta"):
        made = discovery.build("dml.models", backbone, channels=channels, image_size=SIDE, **json.loads(settings))
    return tuple(blocks(made))


def _place(names: Sequence[str], block: str) -> int:
    for place, name in enumerate(names):
        if name == block or name.startswith(f"{block}."):
            return place
    raise ValueError(f"unknown block {block!r}{suggestion(block, names)}")


def _check_trainable(above: Sequence[Block], block: str) -> None:
    if not any(True for part in above for _ in part.module.parameters()):
        raise ValueError(f"no block from {block!r} on has weights to train: expected a lower one, or frozen: true")
