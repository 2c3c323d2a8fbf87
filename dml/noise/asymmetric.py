"""Asymmetric (class-conditional) noise: which wrong label a sample gets depends on its class.

Patrini et al.: Making deep neural networks robust to label noise, CVPR 2017, sec. 2 and 5 (pairs of classes; here also
any matrix T, T[i, j] = P(observed j | true i)). Deviation: of each class an exact number of labels is flipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_labels, check_rate, noisy
from dml.types import NoisyLabels


class Asymmetric:
    """Of the class that is confused most, `rate` of the labels are flipped; of the others, in proportion.

    With pairs every class named first loses `rate` of its labels to the class named second, and no other class loses
    any. With a matrix, its diagonal does not count, and a row's other entries say how often and to which classes a
    label is flipped relative to the other rows: so a row-stochastic T is had exactly with `rate = 1 - min(diagonal)`.
    With neither, each class is confused with the next one in sorted order, the last with the first.

    Parameters
    ----------
    rate : 0 <= rate < 1.
    pairs : [from, to] class labels each.
    matrix : (C, C), from 0, row and column by class label, C above the largest label. What points to a class that the
        labels do not hold (as in the tune phase, which sees half of the classes) is left out, and so are such pairs.

    Raises
    ------
    ValueError : pairs and matrix both, or malformed.
    """

    context: ClassVar[tuple[str, ...]] = ("phase",)

    def __init__(
        self,
        rate: float,
        pairs: Sequence[Sequence[int]] | None = None,
        matrix: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.rate = check_rate(rate)
        if pairs is not None and matrix is not None:
            raise ValueError("noise 'asymmetric': give pairs or a matrix, not both")
        self._pairs = None if pairs is None else _check_pairs(pairs)
        self._matrix = None if matrix is None else _check_matrix(matrix)

    def corrupt(self, labels: np.ndarray, seed: int, phase: str = "confirm") -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Raises
        ------
        ValueError : no class is confused with another one that the labels hold (in the phase `"tune"` that may be).
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        weights = self._weights(classes)
        share = weights.sum(axis=1)
        if self.rate > 0 and phase == "confirm" and not share.any():
            raise ValueError("noise 'asymmetric': no confusion between classes that the labels hold")
        generator = seeding.numpy_generator(seed, "noise/asymmetric")
        observed = labels.copy()
        for number in np.flatnonzero(share) if self.rate > 0 else ():
            members = np.flatnonzero(true == number)
            hit = generator.permutation(members)[: round(self.rate * share[number] * len(members))]
            targets = generator.choice(len(classes), size=len(hit), p=weights[number] / share[number])
            observed[hit] = classes[targets]
        return noisy(labels, observed)

    def _weights(self, classes: np.ndarray) -> np.ndarray:
        """float (K, K): how often each class turns into each other, relative to the class that is confused most."""
        count = len(classes)
        if self._matrix is not None:
            if classes[-1] >= len(self._matrix):
                raise ValueError(
                    f"noise 'asymmetric': matrix: expected more than {classes[-1]} rows, by the largest label, "
                    f"got {len(self._matrix)}"
                )
            return self._matrix[np.ix_(classes, classes)]
        weights = np.zeros((count, count))
        if self._pairs is None:
            weights[np.arange(count), (np.arange(count) + 1) % count] = 1.0
            return weights
        number = {int(label): i for i, label in enumerate(classes)}
        for source, target in self._pairs:
            if source in number and target in number:
                weights[number[source], number[target]] = 1.0
        return weights


def _check_pairs(pairs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    checked: list[tuple[int, int]] = []
    for pair in pairs:
        if len(pair) != 2 or any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in pair):
            raise ValueError(f"noise 'asymmetric': pairs: expected [from, to] class labels, got {pair!r}")
        if pair[0] == pair[1] or pair[0] in [source for source, _ in checked]:
            raise ValueError(f"noise 'asymmetric': pairs: {pair!r} names a class with itself, or a second time")
        checked.append((pair[0], pair[1]))
    return checked


def _check_matrix(matrix: Sequence[Sequence[float]]) -> np.ndarray:
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"noise 'asymmetric': matrix: expected (C, C) numbers from 0, got {values.shape} {matrix!r:.60}"
        )
    confusion = np.where(np.eye(len(values), dtype=bool), 0.0, values)
    if not confusion.any():
        raise ValueError("noise 'asymmetric': matrix: all entries off the diagonal are 0")
    return confusion / confusion.sum(axis=1).max()
