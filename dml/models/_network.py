"""The network that a trial trains: a backbone and a head, the embedding layer."""

from __future__ import annotations

from torch import Tensor, nn

from dml.discovery import suggestion
from dml.protocols import Backbone

HEADS = ("linear", "mlp")


class EmbeddingNetwork(nn.Module):
    """images (N, C, H, W) float -> embeddings (N, embedding_size), not normalised: the losses normalise them."""

    def __init__(self, backbone: Backbone, embedding_size: int, head: str = "linear"):
        super().__init__()
        self.backbone = backbone
        self.head = _head(head, backbone.features, embedding_size)
        self.embedding_size = embedding_size

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.backbone(images))


def _head(name: str, features: int, size: int) -> nn.Module:
    """(N, features) -> (N, size). `mlp` has a hidden layer as wide as the features and ReLU.

    The latter is the projection head of SimCLR (Chen et al., ICML 2020, sec. 2.1).
    """
    if name not in HEADS:
        raise ValueError(f"head: unknown name {name!r}{suggestion(name, HEADS)}")
    if name == "linear":
        return nn.Linear(features, size)
    return nn.Sequential(nn.Linear(features, features), nn.ReLU(), nn.Linear(features, size))
