"""What losses with learned centres of classes share: the centres, their attributes, and cosines with them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, check_classes, check_size, checked_labels, prepared, products, unit
from dml.settings import check_above
from dml.types import LogUniform, Space


class ProxyLoss(nn.Module):
    """The base of losses that compare samples with learned centres of classes, `proxies` (C, D) or (C, centers, D)."""

    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[Mapping[str, Any]] = {}
    exact: ClassVar[bool] = False  # without normalisation all is in float64
    normalized: bool = True  # of the centres
    own_rate: ClassVar[Space] = LogUniform(1e-3, 1.0)

    def __init__(self, num_classes: int, embedding_size: int, normalize: bool, centers: int = 1):
        super().__init__()
        for name, value in (("num_classes", num_classes), ("embedding_size", embedding_size), ("centers", centers)):
            check_above(name, value, 0)
        self.normalize, self.centers = normalize, centers
        self.stats: dict[str, Tensor] = {}
        self.proxies = nn.Parameter(torch.empty(num_classes, *(() if centers == 1 else (centers,)), embedding_size))
        self.reset()

    def reset(self, generator: torch.Generator | None = None) -> None:
        """Draw new centres, uniform in direction."""
        nn.init.normal_(self.proxies, std=self.proxies.shape[-1] ** -0.5, generator=generator)

    def similarities(self, embeddings: Tensor, labels: Tensor, normalize: bool) -> tuple[Tensor, Tensor]:
        """Each embedding times each centre of unit length, (N, C) or (N, C, centers), and the labels int64 (N,)."""
        labels = checked_labels(embeddings, labels)
        check_size(embeddings, self.proxies.shape[-1])
        check_classes(labels, len(self.proxies))
        x = prepared(embeddings.double() if self.exact and not normalize else embeddings, normalize)
        centers = self.proxies.to(x.dtype).flatten(0, -2)
        return products(x, unit(centers) if self.normalized else centers).view(len(x), *self.proxies.shape[:-1]), labels


class SampleLoss(ProxyLoss):
    """The mean of a loss of each sample."""

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        losses, _ = self.per_tuple(embeddings, labels)
        return losses.sum() / max(len(losses), 1)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each sample's loss, and weight 1: (N,) both."""
        losses = self.each(*self.similarities(embeddings, labels, self.normalize))
        losses = losses.to(torch.promote_types(embeddings.dtype, torch.float32))
        return losses, torch.ones_like(losses)

    @abstractmethod
    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """similarities (N, C) or (N, C, centers), labels int64 (N,) -> (N,)."""
