"""Frozen batch norm."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def freeze_batch_norm(network: nn.Module) -> None:
    """Put every batch norm below `network` in evaluation mode and take its parameters out of the training."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
            module.requires_grad_(False)
