"""The smallest parts that use everything the loop gives to a part. They keep other rooms' numbers out of a test."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from dml.models._wrapped import Untrained
from dml.types import Tuples


class Backbone(Untrained, nn.Module):
    """images (N, C, S, S) -> (N, 16), with dropout from the global random state."""

    def __init__(self, channels: int, image_size: int, dropout: float = 0.0):
        super().__init__()
        self.features = 16
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(channels * image_size**2, 16), nn.Tanh(), nn.Dropout(dropout)
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


class Augment:
    """Pixels from 0 to 1, plus noise in training."""

    version: ClassVar[int] = 1

    def __init__(self, channels: int | None = None, normalization: Any = None):
        self.image_size = None

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        pixels = images.float() / 255
        return pixels + 0.1 * torch.rand(pixels.shape, generator=generator) if training else pixels


class Sampler:
    """Random positions, a function of the seed and the batch's number."""

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = False
    bounded: ClassVar[bool] = False

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int):
        self._count, self._size, self._seed, self._number = len(labels), classes * per_class, seed, 0

    def __iter__(self) -> Sampler:
        return self

    def __next__(self) -> np.ndarray:
        self._number += 1
        return np.random.RandomState([self._seed % 2**32, self._number]).randint(self._count, size=self._size)

    def state_dict(self) -> dict[str, Any]:
        return {"number": self._number}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._number = state["number"]


class Miner:
    """Random triples, whatever their labels."""

    def __init__(self) -> None:
        self.stats: dict[str, Tensor] = {}

    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Tuples:
        self.stats = {"spread": embeddings.std()}
        return Tuples(*torch.randint(len(labels), (3, len(labels)), generator=generator))


class Loss(nn.Module):
    """Cross entropy of learned proxies, plus a triplet loss."""

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Any]] = {}
    uses_tuples: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = False
    mining: ClassVar[dict[str, Any]] = {}

    def __init__(self, num_classes: int, embedding_size: int, normalize: bool):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(num_classes, embedding_size))
        self.normalize = normalize
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Tuples) -> Tensor:
        x = nn.functional.normalize(embeddings) if self.normalize else embeddings
        violated = (x[tuples.anchors] * (x[tuples.negatives] - x[tuples.positives])).sum(1) + 0.2
        self.stats = {"active_share": (violated > 0).float().mean()}
        return nn.functional.cross_entropy(x @ self.proxies.T, labels) + violated.relu().mean()
