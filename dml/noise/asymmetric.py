"""Asymmetric (class-conditional) noise: which wrong label a sample gets depends on its class.

Patrini et al.: Making deep neural networks robust to label noise, CVPR 2017, sec. 2 and 5 (pairs of classes; here also
any matrix T, T[i, j] = P(observed j | true i)). Deviation: the number of flipped labels is exact, not drawn.
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
    """Of the class that is confused most, `rate` of the labels are flipped; of the others, in proportion.

    With pairs every class named first loses `rate` of its labels to the class named second, and no other class loses
    any. With a matrix, its diagonal does not count, and a row's other entries say how often and to which classes a
    label is flipped relative to the other rows: so a row-stochastic T is had exactly with `rate = 1 - min(diagonal)`.
    With neither, each class is confused with the next one in sorted order, the last with the first.

    The number of flipped labels is the expected one, rounded; the number in each class, and from each class to each
    other, is rounded up or down, such that the whole is right however small the classes are.

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
        source, target, weight = self._cells(classes)
        if self.rate > 0 and phase == "confirm" and not len(source):
            raise ValueError("noise 'asymmetric': no confusion between classes that the labels hold")
        generator = seeding.numpy_generator(seed, "noise/asymmetric")
        sizes = np.bincount(true, minlength=len(classes))
        counts = _rounded(self.rate * weight * sizes[source], source, generator)
        observed = labels.copy()
        observed[_members(true, sizes, np.repeat(source, counts), generator)] = classes[np.repeat(target, counts)]
        return noisy(labels, observed)

    def _cells(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Class numbers from and to (m,), sorted by the first, and how often the one turns into the other, float (m,).

        How often is relative to the class that is confused most. Cells, since a table (K, K) of 11,318 classes is 1 GB.
        """
        count = len(classes)
        if self._matrix is not None:
            if count and classes[-1] >= len(self._matrix):
                raise ValueError(
                    f"noise 'asymmetric': matrix: expected more than {classes[-1]} rows, by the largest label, "
                    f"got {len(self._matrix)}"
                )
            weights = self._matrix[np.ix_(classes, classes)]
            source, target = np.nonzero(weights)
            return source, target, weights[source, target]
        if self._pairs is None:
            source = np.arange(count if count > 1 else 0)
            return source, (source + 1) % max(1, count), np.ones(len(source))
        number = {int(label): i for i, label in enumerate(classes)}
        held = sorted((number[a], number[b]) for a, b in self._pairs if a in number and b in number)
        source, target = np.array(held, dtype=np.int64).reshape(-1, 2).T
        return source, target, np.ones(len(source))


def _rounded(expected: np.ndarray, source: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Expected numbers (m,) as whole ones: each up or down, their sum, and the sum of each source, too.

    Systematic rounding: what one cell leaves over goes to the next, class by class in random order.
    """
    order = np.lexsort((generator.random(len(source)), generator.permutation(source.max(initial=-1) + 1)[source]))
    total = np.cumsum(expected[order]).round(9)  # without what float64 adds to a sum of tenths
    counts = np.empty(len(expected), dtype=np.int64)
    counts[order] = np.diff(np.floor(total + 0.5), prepend=0)
    return counts


def _members(true: np.ndarray, sizes: np.ndarray, wanted: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `wanted` (m,), sorted, another random position of that class in `true` (n,)."""
    shuffled = generator.permutation(len(true))
    by_class = shuffled[np.argsort(true[shuffled], kind="stable")]
    rank = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    return by_class[(np.cumsum(sizes) - sizes)[wanted] + rank]


def _check_pairs(pairs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    if isinstance(pairs, str) or not isinstance(pairs, Sequence | np.ndarray):
        raise ValueError(f"noise 'asymmetric': pairs: expected a list of [from, to] class labels, got {pairs!r}")
    checked: list[tuple[int, int]] = []
    for pair in pairs:
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2 or not all(map(_is_label, pair)):
            raise ValueError(f"noise 'asymmetric': pairs: expected [from, to] class labels, got {pair!r}")
        if pair[0] == pair[1] or pair[0] in [source for source, _ in checked]:
            raise ValueError(f"noise 'asymmetric': pairs: {pair!r} names a class with itself, or a second time")
        checked.append((int(pair[0]), int(pair[1])))
    return checked


def _is_label(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _check_matrix(matrix: Sequence[Sequence[float]]) -> np.ndarray:
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"noise 'asymmetric': matrix: expected (C, C) numbers from 0, got {matrix!r:.60}") from error
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"noise 'asymmetric': matrix: expected (C, C) numbers from 0, got {values.shape} {matrix!r:.60}"
        )
    confusion = np.where(np.eye(len(values), dtype=bool), 0.0, values)
    if not confusion.any():
        raise ValueError("noise 'asymmetric': matrix: all entries off the diagonal are 0")
    return confusion / confusion.sum(axis=1).max()
