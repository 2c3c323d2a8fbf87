"""A network of another package, with frozen batch norm by choice."""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class Wrapped(nn.Module):
    """images (N, C, H, W) -> (N, features), by a network whose classifier is off.

    Parameters
    ----------
    network : the network.
    features : the width of what it gives.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).
    """

    def __init__(self, network: nn.Module, features: int, frozen_batch_norm: bool):
        super().__init__()
        self.network, self.features, self.frozen_batch_norm = network, features, frozen_batch_norm
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.frozen_batch_norm:
            freeze_batch_norm(self.network)
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)


def freeze_batch_norm(network: nn.Module) -> None:
    """Put every batch norm below `network` in evaluation mode and take its parameters out of the training."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
            module.requires_grad_(False)
