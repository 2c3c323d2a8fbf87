"""Open-set noise: samples from outside the training classes carry the labels of training classes.

Wang et al., "Iterative learning with open-set noisy labels", CVPR 2018. Here random training classes are the outside:
they are removed from the label set, and their samples get labels of the remaining classes. Test classes cannot be the
outside, because training would see them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_labels, check_rate, noisy
from dml.types import NoisyLabels


class OpenSet:
    """The share `rate` of the samples that stay, to within one sample, comes from outside classes.

    Classes are moved outside in random order until they contain enough samples; the last is the smallest that suffices.
    Each outside sample gets a uniformly drawn remaining class. Labels of remaining classes do not change. Superfluous
    outside samples are left out, observed as -1; they number less than the smallest outside class over (1 - rate).
    Nothing changes if the rate amounts to less than one sample.

    Parameters
    ----------
    rate : share of the samples that stay, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = False

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
    """The number of outside samples that make up the share `rate` together with `inside` samples."""
    return round(rate / (1 - rate) * inside)


def _outside(sizes: np.ndarray, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Class numbers (m,), from class sizes (K,), with enough samples for the outside; every one of them is needed."""
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
