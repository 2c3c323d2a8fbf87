"""The network that a trial trains: a backbone and one linear layer."""

from __future__ import annotations

from torch import Tensor, nn

from dml.protocols import Backbone


class EmbeddingNetwork(nn.Module):
    """images (N, C, H, W) float -> embeddings (N, embedding_size), not normalised: the losses normalise them."""

    def __init__(self, backbone: Backbone, embedding_size: int):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(backbone.features, embedding_size)
        self.embedding_size = embedding_size

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.backbone(images))
