"""Softmax classification of the embeddings: cross-entropy over the training classes, as a loss for metric learning.

normalized:      logits = cos(x, w_c) / temperature     (Zhai and Wu 2019, Classification is a strong baseline)
not normalized:  logits = (x . w_c + b_c) / temperature

Search space: the temperature around Zhai and Wu's 0.05, down to where gradients are those of the largest logit alone.
The rate of the class weights is that of a loss's parameters in powerful-benchmarker, as for `proxy_nca`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form
from dml.losses._rows import prepared, products, unit
from dml.losses._settings import check_classes, check_size, checked_labels
from dml.settings import check_above
from dml.types import LogUniform, Space


class Softmax(nn.Module):
    """A linear classifier on the embedding; its weights are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    temperature : divides the logits; > 0.
    normalized : class weights on the unit sphere, without bias.
    normalize : L2-normalise the embeddings.
    """

    version: ClassVar[int] = 1
    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {"temperature": LogUniform(0.02, 0.5)}
    own_rate: ClassVar[Space] = LogUniform(1e-3, 1.0)

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        temperature: float = 0.05,
        normalized: bool = True,
        normalize: bool = True,
    ):
        super().__init__()
        check_above("num_classes", num_classes, 0)
        check_above("embedding_size", embedding_size, 0)
        check_above("temperature", temperature, 0)
        self.temperature, self.normalized, self.normalize = temperature, normalized, normalize
        self.stats: dict[str, Tensor] = {}
        self.weight = nn.Parameter(torch.empty(num_classes, embedding_size))
        self.bias = None if normalized else nn.Parameter(torch.zeros(num_classes))
        self.reset()

    def reset(self, generator: torch.Generator | None = None) -> None:
        """Draw new class weights."""
        nn.init.normal_(self.weight, std=self.weight.shape[1] ** -0.5, generator=generator)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        losses, _ = self.per_tuple(embeddings, labels)
        return losses.sum() / max(len(losses), 1)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each sample's loss, and weight 1: (N,) both."""
        labels = checked_labels(embeddings, labels)
        check_size(embeddings, self.weight.shape[1])
        check_classes(labels, self.weight.shape[0])
        x = prepared(embeddings, self.normalize)
        weight = self.weight.to(x.dtype)
        logits = products(x, unit(weight) if self.normalized else weight)
        if self.bias is not None:
            logits = logits + self.bias.to(x.dtype)
        losses = torch.nn.functional.cross_entropy(logits / self.temperature, labels, reduction="none")
        return losses, torch.ones_like(losses)
