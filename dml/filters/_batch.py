"""What every filter is given, checked before its memory changes."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from dml.tensors import checked_labels, may_look


def checked_batch(embeddings: Tensor, labels: Tensor, size: int | None = None, classes: int | None = None) -> Tensor:
    """Labels int64 (N,) on the embeddings' device. Only a CPU's values are looked at.

    Parameters
    ----------
    embeddings : float (N, D). labels : int (N,).
    size, classes : D and K; None: any.

    Raises
    ------
    ValueError : no samples, other types or shapes, or labels that are not from 0 to K - 1.
    """
    codes = checked_labels(embeddings, labels, "filter: ")
    shape = tuple(embeddings.shape)
    if size is not None and shape[1] != size:
        raise ValueError(f"filter: embeddings: expected (N, {size}) as embedding_size says, got {shape}")
    if not len(embeddings):
        raise ValueError(f"filter: embeddings: expected at least one sample, got {shape}")
    if classes is not None and may_look(labels):
        low, high = (int(bound) for bound in labels.to(torch.int64).aminmax())
        if low < 0 or high >= classes:
            raise ValueError(
                f"filter: labels: expected 0 to {classes - 1} (num_classes {classes}), got {low} to {high}"
            )
    return codes


def check_counts(low: int, **values: Any) -> None:
    """Raise a ValueError unless settings are whole numbers, at least `low`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
            raise ValueError(f"{name}: expected a whole number, at least {low}; got {value!r}")
