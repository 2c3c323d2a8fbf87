"""What the noise models share: checks, and which samples are hit."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from dml import seeding
from dml.types import NoisyLabels


def check_rate(rate: float) -> float:
    """The rate as a float, if it is one: 0 <= rate < 1."""
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate < 1:
        raise ValueError(f"noise: rate: expected 0 <= rate < 1, got {rate!r}")
    return float(rate)


def check_count(value: Any, setting: str) -> int:
    """A setting as an int, if it is a whole number from 1; `setting` is its name in the error."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"noise {setting}: expected a whole number, at least 1, got {value!r}")
    return int(value)


def check_labels(labels: np.ndarray) -> np.ndarray:
    """Clean labels as int64 (n,): whole numbers from 0."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"noise: expected integer labels (n,), got {labels.dtype} {labels.shape}")
    if len(labels) and labels.min() < 0:
        raise ValueError(f"noise: expected clean labels from 0, got {labels.min()}")
    return labels.astype(np.int64)


def check_classes(classes: np.ndarray, rate: float) -> None:
    """With one class alone there is no wrong label."""
    if rate > 0 and len(classes) < 2:
        raise ValueError(f"noise: rate {rate:g} needs at least 2 classes, the labels hold {len(classes)}")


def chosen(n: int, rate: float, seed: int) -> np.ndarray:
    """Exactly round(rate * n) of n positions, in random order.

    For one seed, those of a lower rate are among those of a higher one, whatever the model: so the topline `subset`
    leaves out the very samples that `uniform` flips.
    """
    return seeding.numpy_generator(seed, "noise/chosen").permutation(n)[: round(rate * n)]


def noisy(labels: np.ndarray, observed: np.ndarray) -> NoisyLabels:
    """The record: what is observed, and where that is a wrong label."""
    return NoisyLabels(observed, (observed != labels) & (observed >= 0))


def others(true: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `true`, another one of `count`, uniformly."""
    drawn = generator.integers(0, count - 1, size=len(true))
    return drawn + (drawn >= true)
