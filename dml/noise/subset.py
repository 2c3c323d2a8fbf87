"""The clean topline: training on a random (1 - rate) share of the samples, without wrong labels.

Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 6.1. The score under noise
divided by the topline's separates the effect of fewer good labels from that of bad labels. For one seed, the topline
leaves out exactly the samples that `uniform` flips.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.noise._labels import check_labels, check_rate, chosen, noisy
from dml.types import NoisyLabels


class Subset:
    """Leaves out exactly `round(rate * n)` samples, observed as -1, and flips no label.

    Parameters
    ----------
    rate : share of the samples that is left out, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = True

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,), all False."""
        labels = check_labels(labels)
        observed = labels.copy()
        observed[chosen(len(labels), self.rate, seed)] = -1
        return noisy(labels, observed)
