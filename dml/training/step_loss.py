"""The loss of one batch, with the tuples that the miner chooses and without the samples that a filter leaves out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dml.miners import PolicyMiner
from dml.protocols import Loss, Miner
from dml.types import Pairs

Mined = tuple[Tensor, Tensor, Any, Tensor | None]
"""What the miner saw and chose: detached embeddings (N, D), labels (N,), tuples, and which samples it could choose."""


def step_loss(
    loss: Loss,
    mine: Miner | None,
    embeddings: Tensor,
    labels: Tensor,
    kept: Tensor | None,
    generator: torch.Generator | None,
    truth: Tensor | None = None,
) -> tuple[Tensor, Mined | None]:
    """The loss, a differentiable scalar; and what the miner did, or None without a miner.

    It is that of the batch without the samples left out. Those are only masked where loss and miner can skip them, so
    that nothing waits for the device, and removed otherwise (`dml.protocols.Loss` describes `left_out`).

    Parameters
    ----------
    embeddings : (N, D). labels : int64 (N,).
    kept : bool (N,), the samples that take part; None: all.
    truth : int64 (N,), true labels, for a miner that takes them.
    """
    if kept is not None and not _can_skip(loss, mine):
        truth = None if truth is None else truth[kept]
        embeddings, labels, kept = embeddings[kept], labels[kept], None  # waits for the device
    tuples: Any = None
    if mine is not None:
        more = {name: value for name, value in (("kept", kept), ("truth", truth)) if value is not None}
        tuples = mine(embeddings.detach(), labels, generator=generator, **more)
    elif kept is not None:
        tuples = _every_pair(labels, kept)
    value = loss(embeddings, labels, tuples)
    if kept is not None and loss.left_out == "counted":  # type: ignore[attr-defined]
        value = value * (len(kept) / kept.sum().to(value.dtype))
    return value, None if mine is None else (embeddings.detach(), labels, tuples, kept)


def _can_skip(loss: Loss, mine: Miner | None) -> bool:
    able = loss.takes_padding and getattr(loss, "left_out", "removed") in ("skipped", "counted")
    return able and (mine is None or isinstance(mine, PolicyMiner))


def _every_pair(labels: Tensor, kept: Tensor) -> Pairs:
    """Every pair of kept samples."""
    same, both = labels[:, None] == labels, kept[:, None] & kept
    return Pairs((same & both).fill_diagonal_(False), both & ~same)
