"""Settings and checks of inputs that the losses share."""

from __future__ import annotations

from torch import Tensor

from dml.tensors import checked_labels, may_look

__all__ = ["DISTANCES", "REDUCTIONS", "check_classes", "check_size", "checked_labels", "may_look"]

REDUCTIONS = ("mean", "nonzero", "sum")
DISTANCES = ("euclidean", "squared")


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
