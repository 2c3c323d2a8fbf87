"""Uniform noise: a label becomes one of the K - 1 others, all with the same probability.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 3.2. Deviation: the paper
flips each label with probability p; here exactly round(p n) labels flip.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_labels, check_rate, chosen, noisy, others
from dml.types import NoisyLabels


class Uniform:
    """Flips exactly `round(rate * n)` labels, each to another class.

    Parameters
    ----------
    rate : share of the labels that flip, 0 <= rate < 1.

    Examples
    --------
    >>> int(Uniform(rate=0.3).corrupt(np.arange(10) % 5, seed=0).flipped.sum())
    3
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = False

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,). Raises ValueError for fewer than 2 classes."""
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            observed[hit] = classes[others(true[hit], len(classes), seeding.numpy_generator(seed, "noise/uniform"))]
        return noisy(labels, observed)
