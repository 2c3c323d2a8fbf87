"""A trial's filter, and how often it left each training image out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dml.protocols import Filter
from dml.training.collectives import agreed


class Filtering:
    """Applies a filter to each batch, and counts.

    Parameters
    ----------
    part : the filter.
    samples : n, training images.
    device : of the training.
    """

    def __init__(self, part: Filter, samples: int, device: torch.device):
        self._part, self._device = part.to(device), device
        self._drawn = torch.zeros(samples, dtype=torch.int64, device=device)
        self._left_out = torch.zeros_like(self._drawn)

    @property
    def stats(self) -> Mapping[str, Tensor]:
        """Those of the filter, of the last batch."""
        return self._part.stats

    def __call__(self, embeddings: Tensor, labels: Tensor, positions: Tensor) -> Tensor:
        """Embeddings (B, D), observed labels (B,) and positions (B,) in the training images -> bool (B,): kept."""
        kept = agreed(self._part(embeddings.detach(), labels))
        self._drawn.index_add_(0, positions, torch.ones_like(positions))
        self._left_out.index_add_(0, positions, (~kept).to(positions.dtype))
        return kept

    def agreement(self, flipped: np.ndarray | None) -> dict[str, float]:
        """How well what was left out agrees with what is wrong, over all batches; called after the training.

        Parameters
        ----------
        flipped : bool (n,), which observed labels are wrong; None: not known.

        Returns
        -------
        `left_out_precision`, the share of what was left out whose label is wrong, and `left_out_recall`, the share of
        drawn wrong labels that was left out. One without a denominator is missing.
        """
        if flipped is None:
            return {}
        drawn, left_out = (counts.cpu().numpy() for counts in (self._drawn, self._left_out))
        hits = float(left_out[flipped].sum())
        totals = {"left_out_precision": float(left_out.sum()), "left_out_recall": float(drawn[flipped].sum())}
        return {name: hits / total for name, total in totals.items() if total}

    def state_dict(self) -> dict[str, Any]:
        """The filter's state, and the counts."""
        return {"part": dict(self._part.state_dict()), "drawn": self._drawn, "left_out": self._left_out}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self._part.load_state_dict(state["part"])
        self._drawn, self._left_out = (state[name].to(self._device) for name in ("drawn", "left_out"))
