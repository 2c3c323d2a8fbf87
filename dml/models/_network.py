"""The network that a trial trains: a backbone and a head, the embedding layer."""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn

from dml.discovery import suggestion
from dml.models import _heads
from dml.models._wrapped import freeze_batch_norm
from dml.protocols import Backbone

BATCH_NORMS = ("live", "frozen")


class EmbeddingNetwork(nn.Module):
    """images (N, C, H, W) float -> embeddings (N, embedding_size), not normalised: the losses normalise them.

    Parameters
    ----------
    embedding_size : D; without a head, the width of the backbone's features takes its place.
    head, head_normalize : see `dml.models._heads.build`.
    batch_norm : `live`, or `frozen`: the backbone keeps its statistics and affine parameters.

    Raises
    ------
    ValueError : an unknown head or batch norm; the message lists the choices.
    """

    def __init__(
        self,
        backbone: Backbone,
        embedding_size: int,
        head: str = "linear",
        head_normalize: bool = False,
        batch_norm: str = "live",
    ):
        super().__init__()
        if batch_norm not in BATCH_NORMS:
            raise ValueError(f"batch_norm: unknown name {batch_norm!r}{suggestion(batch_norm, BATCH_NORMS)}")
        self.backbone = backbone
        self.head = _heads.build(head, backbone.features, embedding_size, head_normalize)
        self.embedding_size = backbone.features if head == "none" else embedding_size
        self._freezes = batch_norm == "frozen"
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self._freezes:
            freeze_batch_norm(self.backbone)  # type: ignore[arg-type]
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.backbone(images))
