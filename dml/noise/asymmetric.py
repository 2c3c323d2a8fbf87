"""Asymmetric (class-conditional) noise: a wrong label depends on the true class.

Patrini et al., "Making deep neural networks robust to label noise", CVPR 2017, sections 2 and 5: pairs of classes.
Deviation: the number of flips is exact, not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_labels, check_rate, noisy
from dml.types import NoisyLabels


class Asymmetric:
    """Flips the share `rate` of the labels of the first class of each pair to the second; other classes lose none.

    Without pairs, each class is confused with the next one in sorted order, and the last with the first. The number of
    flips is the expected one, rounded; that of each class is rounded up or down at random, without bias however small
    the classes are.

    Parameters
    ----------
    rate : 0 <= rate < 1.
    pairs : [from, to] class labels each. Pairs of classes that the labels do not contain have no effect; the tune
        phase, for example, sees half of the classes.

    Raises
    ------
    ValueError : malformed pairs.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("phase",)
    topline: ClassVar[bool] = False

    def __init__(self, rate: float, pairs: Sequence[Sequence[int]] | None = None) -> None:
        self.rate = check_rate(rate)
        self._pairs = None if pairs is None else _check_pairs(pairs)

    def corrupt(self, labels: np.ndarray, seed: int, phase: str = "confirm") -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Raises
        ------
        ValueError : the labels contain no two classes that are confused; in the phase `"tune"` nothing flips instead.
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        source, target = self._confused(classes)
        if self.rate > 0 and phase == "confirm" and not len(source):
            raise ValueError("noise 'asymmetric': no confusion between classes that the labels contain")
        generator = seeding.numpy_generator(seed, "noise/asymmetric")
        sizes = np.bincount(true, minlength=len(classes))
        counts = _rounded(self.rate * sizes[source], generator)
        observed = labels.copy()
        observed[_members(true, sizes, np.repeat(source, counts), generator)] = classes[np.repeat(target, counts)]
        return noisy(labels, observed)

    def _confused(self, classes: np.ndarray) -> np.ndarray:
        """Source and target class numbers, int64 (2, m), sorted by source."""
        count = len(classes)
        if self._pairs is None:
            source = np.arange(count if count > 1 else 0)
            return np.stack([source, (source + 1) % max(1, count)])
        number = {int(label): i for i, label in enumerate(classes)}
        held = sorted((number[a], number[b]) for a, b in self._pairs if a in number and b in number)
        return np.array(held, dtype=np.int64).reshape(-1, 2).T


def _rounded(expected: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Expected numbers (m,) as whole numbers, rounded up with the probability of the fraction."""
    if not len(expected):
        return np.zeros(0, dtype=np.int64)
    generator.random(len(expected))  # not used; with it, finished trials keep their labels
    expected = expected.round(9)  # removes the float64 error of tenths
    shuffled = generator.permutation(len(expected))
    total = np.cumsum(expected[shuffled]).round(9)
    fraction, position = total[-1] % 1, generator.random()
    start = 1 - fraction * (1 - position) if fraction >= 0.5 else (1 - fraction) * position
    counts = np.empty(len(expected), dtype=np.int64)
    counts[shuffled] = np.diff(np.floor(total + start), prepend=0)
    generator.random(len(expected))  # not used either
    return counts


def _members(true: np.ndarray, sizes: np.ndarray, wanted: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `wanted` (m,), sorted, a different random position of that class in `true` (n,)."""
    shuffled = generator.permutation(len(true))
    by_class = shuffled[np.argsort(true[shuffled], kind="stable")]
    rank = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    return by_class[(np.cumsum(sizes) - sizes)[wanted] + rank]


def _check_pairs(pairs: Any) -> list[tuple[int, int]]:
    checked: list[tuple[int, int]] = []
    for pair in pairs if isinstance(pairs, list | tuple | np.ndarray) else [pairs]:
        if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2 or not all(map(_is_label, pair)):
            raise ValueError(f"noise 'asymmetric': pairs: expected a list of [from, to] class labels, got {pair!r}")
        if pair[0] == pair[1] or pair[0] in [source for source, _ in checked]:
            raise ValueError(
                f"noise 'asymmetric': pairs: expected two different classes, each class first only once, got {pair!r}"
            )
        checked.append((int(pair[0]), int(pair[1])))
    return checked


def _is_label(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
