"""Helpers of the noise models: checks, and the choice of samples."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dml import seeding
from dml.settings import Shown
from dml.tables import host_array
from dml.types import NoisyLabels


class Rated(Shown):
    """The base of noise models: a rate, labels that flip, and nothing needed beside labels and a seed.

    Raises ValueError unless the rate is a number with 0 <= rate < 1.
    """

    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = False
    rate: float

    def __init__(self, rate: float) -> None:
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate < 1:
            raise ValueError(f"noise: rate: expected 0 <= rate < 1, got {rate!r}")
        self.rate = float(rate)

    def coded(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels int64 (n,), the classes (K,), and each label's place among these. Raises ValueError."""
        labels = check_labels(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if self.rate > 0 and len(classes) < 2:
            raise ValueError(f"noise: rate {self.rate:g} needs at least 2 classes, got {len(classes)}")
        return labels, classes, codes


def check_labels(labels: np.ndarray) -> np.ndarray:
    """Clean labels as int64 (n,). Raises ValueError unless they are integers from 0."""
    labels = host_array(labels, "noise: labels")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"noise: expected integer labels (n,), got {labels.dtype} {labels.shape}")
    if len(labels) and (labels.min() < 0 or labels.max() > np.iinfo(np.int64).max):
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise ValueError(f"noise: expected clean labels from 0, got {wrong}")
    return labels.astype(np.int64)


def chosen(n: int, rate: float, seed: int) -> np.ndarray:
    """Exactly round(rate * n) of n positions, in random order; of one seed, those of a lower rate are among them."""
    return seeding.numpy_generator(seed, "noise/chosen").permutation(n)[: round(rate * n)]


def noisy(labels: np.ndarray, observed: np.ndarray) -> NoisyLabels:
    """The record of observed labels. A label is flipped if it differs from the clean one and is not left out (-1)."""
    return NoisyLabels(observed, (observed != labels) & (observed >= 0))


def others(true: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `true`, a uniformly drawn other one of `count`."""
    drawn = generator.integers(0, count - 1, size=len(true))
    return drawn + (drawn >= true)


SIDE = 16  # pixels
CHUNK = 1024  # images read at once; bounds the memory


def pixels(images: Any, rows: np.ndarray) -> np.ndarray:
    """Small grey images: `images[rows]`, uint8 (n, H, W, C) -> float32 (n, d <= 256), rows of mean 0 and length 1."""
    blocks = [_small(np.asarray(images[rows[start : start + CHUNK]])) for start in range(0, len(rows), CHUNK)]
    features = np.concatenate(blocks)
    features -= features.mean(axis=1, keepdims=True)
    return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)


def _small(images: np.ndarray) -> np.ndarray:
    grey = images.mean(axis=3, dtype=np.float32)
    for axis in (1, 2):
        length = grey.shape[axis]
        starts = np.arange(min(SIDE, length)) * length // min(SIDE, length)
        sums = np.add.reduceat(grey, starts, axis=axis)
        sizes = np.diff([*starts, length]).astype(np.float32)
        grey = sums / np.expand_dims(sizes, axis=[a for a in range(3) if a != axis])
    return grey.reshape(len(images), -1)


def check_features(features: np.ndarray, n: int) -> np.ndarray:
    """Features as float64 (n, d). Raises ValueError unless they are n finite rows."""
    features = host_array(features, "noise: features")
    if features.ndim != 2 or len(features) != n or features.dtype.kind not in "biuf":
        raise ValueError(
            f"noise: features: expected ({n}, d) numbers, one row for each label, got {features.dtype} {features.shape}"
        )
    features = features.astype(np.float64, copy=False)
    if not np.isfinite(features).all():
        raise ValueError("noise: features: some values are not finite")
    return features
