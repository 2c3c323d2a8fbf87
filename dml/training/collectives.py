"""Communication between the processes that share a trial. In a process of its own, each function changes nothing.

Each process embeds its share of the batch and computes the loss of the whole batch. Embeddings are gathered with their
gradients, so N processes give the loss and the gradients of one. Batch norm is synchronised on GPUs only.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dml.protocols import Loss
from dml.training.process import rank_and_size

version = 3
"""Of the numbers that only trials of several processes have: which process draws which random numbers."""


def share_of_batch(images: int) -> tuple[int, int]:
    """`rank_and_size()`, for a batch of so many images. Raises ValueError."""
    rank, size = rank_and_size()
    if images % size:
        raise ValueError(f"training.workers: a batch of {images} images cannot be shared equally by {size} workers")
    return rank, size


class _Gather(torch.autograd.Function):
    """(B / W, D) on each of W ranks -> (B, D) on all, in the order of ranks."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part.contiguous())
        ctx.rows = part.shape[0]
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # Each rank computes the whole loss, so the gradient of its own rows is complete. The factor W cancels the
        # division by W in data-parallel training.
        rank, size = rank_and_size()
        return gradient[rank * ctx.rows : (rank + 1) * ctx.rows] * size


def gather(embeddings: Tensor) -> Tensor:
    """Each process's embeddings (B / W, D) -> those of the whole batch, (B, D), with gradients."""
    return _Gather.apply(embeddings) if rank_and_size()[1] > 1 else embeddings


def agreed(mask: Tensor) -> Tensor:
    """The first process's mask bool (B,), in all of them: sums on GPUs differ in the last bits, so theirs might."""
    if rank_and_size()[1] == 1:
        return mask
    shared = mask.to(torch.uint8)
    dist.broadcast(shared, 0)
    return shared.bool()


def parallel(model: nn.Module, device: torch.device) -> nn.Module:
    """The model with its gradients averaged over the processes."""
    if rank_and_size()[1] == 1:
        return model
    if device.type == "cuda":
        model = synchronised(model)
    return nn.parallel.DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def synchronised(model: nn.Module) -> nn.Module:
    """The model with synchronised batch norm. timm's layers of batch norm and activation keep their activation."""
    try:
        from timm.layers import convert_sync_batchnorm
    except ImportError:  # an optional dependency, without which there are no such layers
        return nn.SyncBatchNorm.convert_sync_batchnorm(model)
    return convert_sync_batchnorm(model)


def average_gradients(loss: Loss) -> None:
    """Give the loss's own parameters equal gradients on all processes."""
    size = rank_and_size()[1]
    if size > 1:
        for parameter in loss.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= size
