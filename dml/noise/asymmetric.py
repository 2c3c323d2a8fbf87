"""Asymmetric (class-conditional) noise: the probability of each wrong label depends on the true class.

Patrini et al., "Making deep neural networks robust to label noise", CVPR 2017, sections 2 and 5, use pairs of classes;
here any matrix T is possible too, T[i, j] = P(observed j | true i). Deviation: the number of flips is exact, not drawn.
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
    """Flips the share `rate` of the labels of the most confused class, and proportional shares of the other classes.

    With pairs, the first class of each pair loses `rate` of its labels to the second; other classes lose none. With a
    matrix, the entries off the diagonal say how often each class becomes each other one, relative to the class with the
    largest sum: `rate = 1 - min(diagonal)` reproduces a row-stochastic T. With neither, each class is confused with the
    next one in sorted order, and the last with the first.

    The number of flips is the expected one, rounded. The numbers for each class and for each pair of classes are
    rounded up or down at random, without bias however small the classes are.

    Parameters
    ----------
    rate : 0 <= rate < 1.
    pairs : [from, to] class labels each.
    matrix : (C, C) numbers from 0, row and column by class label, C above the largest label. Entries and pairs for
        classes that the labels do not contain have no effect; the tune phase, for example, sees half of the classes.

    Raises
    ------
    ValueError : both pairs and a matrix are given, or one of them is malformed.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("phase",)
    topline: ClassVar[bool] = False

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
        ValueError : the labels contain no two classes that are confused; in the phase `"tune"` nothing flips instead.
        """
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        source, target, weight = self._cells(classes)
        if self.rate > 0 and phase == "confirm" and not len(source):
            raise ValueError("noise 'asymmetric': no confusion between classes that the labels contain")
        generator = seeding.numpy_generator(seed, "noise/asymmetric")
        sizes = np.bincount(true, minlength=len(classes))
        counts = _rounded(self.rate * weight * sizes[source], source, generator)
        observed = labels.copy()
        observed[_members(true, sizes, np.repeat(source, counts), generator)] = classes[np.repeat(target, counts)]
        return noisy(labels, observed)

    def _cells(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source and target class numbers (m,), sorted by source, and the relative weights of the flips, float (m,)."""
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
    """Expected numbers of flips (m,) as whole numbers; `source` (m,) are the sorted class numbers."""
    if not len(source):
        return np.zeros(0, dtype=np.int64)
    _, first, group = np.unique(source, return_index=True, return_inverse=True)
    order = np.lexsort((generator.random(len(source)), group))
    running = np.cumsum(expected[order])
    running -= (running - expected[order])[first][group]
    running = running.round(9)  # removes the float64 error of a sum of tenths
    sums = running[np.append(first[1:], len(source)) - 1]

    shuffled = generator.permutation(len(sums))
    total = np.cumsum(sums[shuffled]).round(9)
    start = _start(total[-1] % 1, total[-1] % 1 >= 0.5, generator.random())
    per_class = np.empty(len(sums))
    per_class[shuffled] = np.diff(np.floor(total + start), prepend=0)

    starts = _start(sums % 1, per_class > np.floor(sums), generator.random(len(sums)))
    ends = np.floor(running + starts[group])
    steps = np.diff(ends, prepend=0)
    steps[first] = ends[first]
    counts = np.empty(len(expected), dtype=np.int64)
    counts[order] = steps
    return counts


def _start(fraction: Any, up: Any, position: Any) -> Any:
    """Where to start so that a sum with this fraction is rounded up or down; `position` is uniform in [0, 1)."""
    return np.where(up, 1 - fraction * (1 - position), (1 - fraction) * position)


def _members(true: np.ndarray, sizes: np.ndarray, wanted: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `wanted` (m,), sorted, a different random position of that class in `true` (n,)."""
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
            raise ValueError(
                f"noise 'asymmetric': pairs: expected two different classes, each class first only once, got {pair!r}"
            )
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
