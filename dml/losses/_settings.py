"""Settings and checks of inputs that the losses share."""

from __future__ import annotations

import torch
from torch import Tensor

REDUCTIONS = ("mean", "nonzero", "sum")
DISTANCES = ("euclidean", "squared")


def checked_labels(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Labels as int64 (N,) on the embeddings' device, without waiting for a GPU.

    Raises a ValueError unless embeddings are float (N, D) and labels integer (N,).
    """
    for name, value in (("embeddings", embeddings), ("labels", labels)):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: expected a torch.Tensor, got {type(value).__name__}")
    if embeddings.ndim != 2 or not embeddings.is_floating_point():
        raise ValueError(f"embeddings: expected float (N, D); got {embeddings.dtype} {tuple(embeddings.shape)}")
    if labels.shape != embeddings.shape[:1] or labels.is_floating_point():
        raise ValueError(
            f"labels: expected integers of shape ({embeddings.shape[0]},), one for each embedding; "
            f"got {labels.dtype} {tuple(labels.shape)}"
        )
    device = embeddings.device
    return labels.to(device, torch.int64, non_blocking=device.type != "cpu")


def nothing(embeddings: Tensor, labels: Tensor) -> Tensor:
    """0 as a loss of embeddings (N, D), with a gradient of 0; NaN if one of them is not finite."""
    checked_labels(embeddings, labels)
    return (embeddings.to(torch.promote_types(embeddings.dtype, torch.float32)) * 0).sum()


def may_look(tensor: Tensor) -> bool:
    """Whether the tensor's values may decide what is computed next: it is on the host, and no graph is being traced."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def check_size(embeddings: Tensor, embedding_size: int) -> None:
    """Raise a ValueError unless embeddings (N, D) have the size that a loss was built for."""
    if embeddings.shape[1] != embedding_size:
        size, shape = embedding_size, tuple(embeddings.shape)
        raise ValueError(f"embeddings: expected (N, {size}) (embedding_size={size}), got {shape}")


def check_classes(labels: Tensor, num_classes: int) -> None:
    """Raise a ValueError unless labels int64 (N,) are 0 .. num_classes - 1. Other devices' labels are not read."""
    if len(labels) and may_look(labels):
        low, high = labels.min().item(), labels.max().item()  # a fourth of the time of `aminmax` and `int`
        if low < 0 or high >= num_classes:
            got = low if low < 0 else high
            raise ValueError(f"labels: expected 0 to {num_classes - 1} (num_classes={num_classes}), got {got}")
