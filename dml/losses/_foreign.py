"""A loss of another package, with the interface of the losses here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from dml.types import Space


class ForeignLoss(nn.Module):
    """Calls `loss(embeddings, labels, tuples)`.

    Parameters
    ----------
    loss : called as the losses of pytorch-metric-learning are: embeddings (N, D), labels (N,), and None, three tensors
        (a, p, n) or four (a, p, a, n). If it is an `nn.Module`, its parameters are parameters here.

    Attributes
    ----------
    uses_tuples, search_space, mining : the loss's own if it has them, else True, {} and {}.
    takes_padding : False, so that miners list triples only.
    stats : of the last call; the loss's own if it has them.
    """

    version: ClassVar[int] = 1
    takes_padding: ClassVar[bool] = False

    def __init__(self, loss: Any):
        super().__init__()
        self.loss = loss
        self.uses_tuples: bool = getattr(loss, "uses_tuples", True)
        self.search_space: Mapping[str, Space] = getattr(loss, "search_space", {})
        self.mining: Mapping[str, Any] = getattr(loss, "mining", {})

    @property
    def stats(self) -> Mapping[str, Tensor]:
        return getattr(self.loss, "stats", {})

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Any = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples as the loss takes them -> scalar."""
        return self.loss(embeddings, labels, tuples)
