"""Another pooling of a backbone's last maps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dml.discovery import suggestion
from dml.models._blocks import Block, blocks, paths
from dml.protocols import Backbone

POOLINGS = ("average", "max", "both", "gem")
AFTER = (nn.Flatten, nn.Dropout, nn.Identity, nn.Linear)  # what may follow, since the result is (N, C)


class Pooling(nn.Module):
    """maps (N, C, H, W) -> (N, C).

    Parameters
    ----------
    name : `average`; `max`; `both`, their sum (Proxy-Anchor, Kim et al. 2020); or `gem`, the generalised mean
        (mean x^p)^(1/p) of positive parts, with a learned p that starts at 3 (Radenovic et al., TPAMI 2019, eq. 3).

    Raises
    ------
    ValueError : an unknown name; the message lists the choices.
    """

    def __init__(self, name: str):
        super().__init__()
        if name not in POOLINGS:
            raise ValueError(f"pooling: unknown name {name!r}{suggestion(name, POOLINGS)}")
        self.name = name
        self.p = nn.Parameter(torch.tensor(3.0)) if name == "gem" else None

    def forward(self, maps: Tensor) -> Tensor:
        if self.p is not None:
            maps = maps.clamp(min=1e-6)
            maps = maps.to(self.p.dtype) if maps.dtype == torch.float16 else maps  # 1e-6 cubed is 0 in float16
            return maps.pow(self.p).mean((2, 3)).pow(1 / self.p)
        found = maps.mean((2, 3)) if self.name in ("average", "both") else torch.zeros((), device=maps.device)
        return found + maps.amax((2, 3)) if self.name in ("max", "both") else found


class Repooled(nn.Module):
    """images (N, C, H, W) -> (N, features): a backbone with another pooling.

    Raises
    ------
    ValueError : the backbone cannot be divided into blocks, or pools no maps to (N, C).
    """

    def __init__(self, backbone: Backbone, pooling: str):
        super().__init__()
        found = blocks(backbone)
        places = [place for place, block in enumerate(found) if block.pools]
        if not places or not all(isinstance(block.module, AFTER) for block in found[places[-1] + 1 :]):
            raise ValueError(f"pooling: the backbone {type(backbone).__name__} pools no maps last: remove pooling")
        self.backbone, self.features, self.pooling = backbone, backbone.features, Pooling(pooling)
        found[places[-1]] = Block("pooling", self.pooling)
        own = set(self.modules())
        self.others = nn.ModuleList(block.module for block in found if block.module not in own)
        self._paths = paths(self, (block.module for block in found))
        self._blocks = [(block.name, block.pools) for block in found]

    def blocks_in_order(self) -> list[Block]:
        """The backbone's blocks, with its own pooling replaced."""
        modules = map(self.get_submodule, self._paths)
        return [Block(name, module, pools) for module, (name, pools) in zip(modules, self._blocks, strict=True)]

    def forward(self, images: Tensor) -> Tensor:
        for path in self._paths:
            images = self.get_submodule(path)(images)
        return images
