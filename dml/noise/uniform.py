"""Uniform noise: a label becomes one of the K - 1 others, each as likely.

Le, Odobez: Theoretical guarantees of deep embedding losses under label noise, sec. 3.2. Deviation: the paper flips each
label with probability p; here exactly round(p n) labels are flipped.
"""

from __future__ import annotations

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_labels, check_rate, chosen, noisy, others
from dml.types import NoisyLabels


class Uniform:
    """Exactly `round(rate * n)` labels are flipped, none to its true class.

    Parameters
    ----------
    rate : share of the labels, 0 <= rate < 1.

    Examples
    --------
    >>> int(Uniform(rate=0.3).corrupt(np.arange(10) % 5, seed=0).flipped.sum())
    3
    """

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,). Raises a ValueError for fewer than 2 classes."""
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            observed[hit] = classes[others(true[hit], len(classes), seeding.numpy_generator(seed, "noise/uniform"))]
        return noisy(labels, observed)
