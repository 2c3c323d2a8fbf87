"""Features from pixels, for noise models that compare images when no other features are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.arrays import host_array

SIDE = 16  # pixels
CHUNK = 1024  # images read at once; bounds the memory


def pixels(images: Any, rows: np.ndarray) -> np.ndarray:
    """Small grey images: `images[rows]`, uint8 (n, H, W, C) -> float32 (n, d), d <= 256, averages over blocks.

    Each row has mean 0 and length 1, so brightness and contrast have no effect.
    """
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
