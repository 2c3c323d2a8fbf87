"""A network of another package as a backbone, with frozen batch norm as an option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class Wrapped(nn.Module):
    """images (N, C, H, W) -> (N, features), by a network without its classifier.

    The constructor of a subclass takes `pretrained`, which says whether weights are fetched.

    Parameters
    ----------
    network : the network.
    features : the width of its result.
    frozen_batch_norm : keep batch-norm statistics and affine parameters as loaded (LoOp's supplement).
    """

    def __init__(self, network: nn.Module, features: int, frozen_batch_norm: bool):
        super().__init__()
        self.network, self.features, self.frozen_batch_norm = network, features, frozen_batch_norm
        self.train()

    @classmethod
    def without_weights(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with `pretrained` off."""
        return {**settings, "pretrained": False}

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.frozen_batch_norm:
            freeze_batch_norm(self.network)
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)


def freeze_batch_norm(network: nn.Module) -> None:
    """Put each batch norm of `network` in evaluation mode and exclude its parameters from training."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
            module.requires_grad_(False)
