"""Small helpers of the samplers' tests."""

from typing import Any

import numpy as np

from dml.data import batches
from dml.protocols import Sampler


def make_labels(seed=0, classes=13, n=200, left_out=0.2):
    generator = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), generator.integers(0, classes, size=n)])
    labels = generator.permutation(labels)
    labels[generator.random(len(labels)) < left_out] = -1
    return labels.astype(np.int64)


def build(
    name: str, labels: np.ndarray, classes: int = 4, per_class: int = 3, seed: int = 0, **settings: Any
) -> Sampler:
    coarse = np.where(labels >= 0, labels // 4, 0)
    return batches.build(
        name, labels=labels, classes=classes, per_class=per_class, seed=seed, coarse=coarse, **settings
    )


def take(sampler: Sampler, count: int) -> list[np.ndarray]:
    return [next(sampler) for _ in range(count)]
