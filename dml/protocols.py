"""One protocol per kind of part. A part needs no base class: a class with these members is one.

Every part may carry `search_space: ClassVar[dict[str, Space]]`, the settings worth tuning and their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from dml.types import NoisyLabels, Pairs, Space, Tuples


class Loss(Protocol):
    """An `nn.Module`; what it learns (proxies, beta) are its `parameters()`."""

    search_space: ClassVar[Mapping[str, Space]]
    uses_tuples: bool  # False: it ignores what a miner chooses, and a study may not pair it with one

    def __call__(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | Pairs | None = None) -> Tensor:
        """embeddings (N, D) float, labels (N,) int64 -> scalar. `tuples=None`: every valid tuple of the batch."""
        ...


class Miner(Protocol):
    """Chooses tuples in a batch."""

    def __call__(self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None) -> Tuples | Pairs:
        """embeddings (N, D), labels (N,) int64 -> the tuples to train on."""
        ...


class NoiseModel(Protocol):
    """Turns clean labels into observed ones."""

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """labels int64 (n,) -> what is observed. The same labels and seed give the same result."""
        ...


class Source(Protocol):
    """A dataset's raw files. Constructed with its options; knows nothing of packing."""

    name: ClassVar[str]

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch and verify the raw files below `raw` (the mirror first, then the public source)."""
        ...

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records in a fixed order: `image` (encoded bytes, or uint8 (H, W, C)), `fine`, `coarse`, `path`, ..."""
        ...


class RetrievalMetric(Protocol):
    """A number per query, from the neighbours that `evaluation.evaluate` found once for all metrics."""

    def depth(self, most: int) -> int | None:
        """Neighbours needed where the query with the most relevant rows has `most`; None: the whole ranking."""
        ...

    def __call__(self, hits: Any) -> np.ndarray:
        """`evaluation.relevance.Hits` of b queries -> float64 (b,)."""
        ...


class ClusteringMetric(Protocol):
    """A number from one k-means clustering, shared by all metrics that ask for as many clusters."""

    def clusters(self, classes: int) -> int:
        """How many clusters."""
        ...

    def __call__(self, table: Any) -> float:
        """`evaluation.clustering.Contingency` -> the score."""
        ...


class Backbone(Protocol):
    """Images to features: an `nn.Module` with `features`, the width of what it returns."""

    features: int

    def __call__(self, images: Tensor) -> Tensor:
        """images (N, C, H, W) float -> (N, features)."""
        ...
