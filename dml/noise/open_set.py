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

    Classes go outside in random order until they hold enough samples, the last of them the smallest that will do. Each
    outside sample gets one of the remaining classes, as likely each. All remaining classes' own labels are right. What
    is more than enough is left out, observed as -1: fewer than the smallest class outside has, over (1 - rate). Where
    the rate asks for less than one sample, nothing changes.

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
        outside = _outside(sizes, self.rate, generator)
        if len(outside) and len(classes) - len(outside) < 2:
            raise ValueError(
                f"noise 'open_set': rate {self.rate:g} would leave fewer than 2 of the {len(classes)} classes inside"
            )
        wanted = _wanted(self.rate, int(sizes.sum() - sizes[outside].sum()))
        if wanted == 0:
            return noisy(labels, labels.copy())
        strangers = generator.permutation(np.flatnonzero(np.isin(true, outside)))
        observed = labels.copy()
        observed[strangers] = -1
        observed[strangers[:wanted]] = generator.choice(np.delete(classes, outside), size=wanted)
        return noisy(labels, observed)


def _wanted(rate: float, inside: int) -> int:
    """How many strangers make the share `rate` together with `inside` samples."""
    return round(rate / (1 - rate) * inside)


def _outside(sizes: np.ndarray, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Class numbers (m,) that hold enough strangers, from sizes (K,): none of them could stay inside.

    Classes go outside in random order while they are too few. The last is the smallest that makes them enough, and
    those that it makes needless come back.
    """
    n = int(sizes.sum())
    if _wanted(rate, n) == 0:
        return np.array([], dtype=np.int64)
    outside: list[int] = []
    last: list[int] = []
    held = 0
    for number in generator.permutation(len(sizes)):
        if held + sizes[number] >= _wanted(rate, n - held - sizes[number]):
            last.append(number)
        else:
            outside.append(number)
            held += sizes[number]
    outside.append(min(last, key=lambda number: sizes[number]))
    held += sizes[outside[-1]]
    for number in outside[:-1]:
        if held - sizes[number] >= _wanted(rate, n - held + sizes[number]):
            outside.remove(number)
            held -= sizes[number]
    return np.array(outside)
