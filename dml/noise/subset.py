"""The clean topline: a random (1 - rate) share of the samples is kept, the rest left out; no label is wrong.

Le, Odobez: Theoretical guarantees of deep embedding losses under label noise, sec. 6.1. The result under noise divided
by the topline's separates "fewer good labels" from "bad labels". For one seed, what is left out is what `uniform`
flips.
"""

from __future__ import annotations

import numpy as np

from dml.noise._labels import check_labels, check_rate, chosen, noisy
from dml.types import NoisyLabels


class Subset:
    """Exactly `round(rate * n)` samples are left out: observed as -1, not flipped.

    Parameters
    ----------
    rate : share of the samples that is left out, 0 <= rate < 1.
    """

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,), nowhere true."""
        labels = check_labels(labels)
        observed = labels.copy()
        observed[chosen(len(labels), self.rate, seed)] = -1
        return noisy(labels, observed)
