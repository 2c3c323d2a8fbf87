"""Open-set noise: samples from outside the training classes carry the labels of training classes.

Wang et al.: Iterative learning with open-set noisy labels, CVPR 2018. The outside here is a random part of the
training classes themselves: it is taken out of the label set, and its samples get the labels of the classes that
remain. Test classes cannot serve as the outside, or training would see them.
"""

from __future__ import annotations

import numpy as np

from dml import seeding
from dml.noise._labels import check_labels, check_rate, noisy
from dml.types import NoisyLabels


class OpenSet:
    """Of the samples that stay, exactly the share `rate` (to one sample) comes from outside.

    Classes go outside in random order until they hold enough samples; what is more than enough is left out (-1). Each
    outside sample gets one of the remaining classes, as likely each. All remaining classes' own labels are right.

    Parameters
    ----------
    rate : share of the samples that stay, 0 <= rate < 1.
    """

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,).

        Raises
        ------
        ValueError : fewer than 2 classes would remain.
        """
        labels = check_labels(labels)
        if self.rate == 0:
            return noisy(labels, labels.copy())
        generator = seeding.numpy_generator(seed, "noise/open_set")
        classes, true, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        order = generator.permutation(len(classes))
        for outside in range(1, len(classes) - 1):
            available = int(sizes[order[:outside]].sum())
            wanted = round(self.rate / (1 - self.rate) * (len(labels) - available))
            if available >= wanted:
                break
        else:
            raise ValueError(
                f"noise 'open_set': rate {self.rate:g} would leave fewer than 2 of the {len(classes)} classes inside"
            )
        remaining = np.sort(classes[order[outside:]])
        strangers = generator.permutation(np.flatnonzero(np.isin(true, order[:outside])))
        observed = labels.copy()
        observed[strangers] = -1
        observed[strangers[:wanted]] = generator.choice(remaining, size=wanted)
        return noisy(labels, observed)
