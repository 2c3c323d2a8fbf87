"""Noise with structure: by class, by similarity, by cluster, and from outside. Each class is a part."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import Rated, check_features, check_labels, chosen, noisy
from dml.settings import check_count
from dml.types import NoisyLabels


class Asymmetric(Rated):
    """Asymmetric (class-conditional) noise: a wrong label depends on the true class.

    Patrini et al., "Making deep neural networks robust to label noise", CVPR 2017, sections 2 and 5: pairs of classes.
    Deviation: the number of flips is exact, not drawn.

    Flips the share `rate` of the labels of the first class of each pair to the second; other classes lose none.
    Without pairs, each class is confused with the next one in sorted order, and the last with the first. The number of
    flips is the expected one, rounded; that of each class is rounded up or down at random, without bias however small
    the classes are. `rate`: 0 <= rate < 1. `pairs`: [from, to] class labels each. Pairs of classes that the labels do
    not contain have no effect; the tune phase sees half of the classes. Raises ValueError: malformed pairs.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("phase",)

    def __init__(self, rate: float, pairs: Sequence[Sequence[int]] | None = None) -> None:
        super().__init__(rate)
        self._pairs = None if pairs is None else _check_pairs(pairs)

    def corrupt(self, labels: np.ndarray, seed: int, phase: str = "confirm") -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Raises ValueError: the labels contain no two classes that are confused; in the phase `"tune"` nothing flips
        instead.
        """
        labels, classes, true = self.coded(labels)
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


def _members(true: np.ndarray, sizes: np.ndarray, numbers: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """For each class number in `numbers` (m,), sorted, a different random position of that class in `true` (n,)."""
    shuffled = generator.permutation(len(true))
    by_class = shuffled[np.argsort(true[shuffled], kind="stable")]
    rank = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
    return by_class[(np.cumsum(sizes) - sizes)[numbers] + rank]


def _check_pairs(pairs: Any) -> list[tuple[int, int]]:
    checked: list[tuple[int, int]] = []
    for pair in pairs if isinstance(pairs, list | tuple | np.ndarray) else [pairs]:
        labels = pair if isinstance(pair, list | tuple | np.ndarray) else []
        labels = [one for one in labels if isinstance(one, Integral) and not isinstance(one, bool) and int(one) >= 0]
        if len(labels) != 2 or len(pair) != 2:
            raise ValueError(f"noise 'asymmetric': pairs: expected a list of [from, to] class labels, got {pair!r}")
        if pair[0] == pair[1] or pair[0] in [source for source, _ in checked]:
            raise ValueError(
                f"noise 'asymmetric': pairs: expected two different classes, each class first only once, got {pair!r}"
            )
        checked.append((int(pair[0]), int(pair[1])))
    return checked


BLOCK = 512  # classes compared with all others at once; a (K, K) table of 11,318 classes would take 1 GB


class Similarity(Rated):
    """Similarity noise: a label becomes one of the classes most similar to its own, like an annotator's confusion.

    Classes are compared by the cosine of their mean features.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("features",)

    def __init__(self, rate: float, neighbours: int = 3) -> None:
        super().__init__(rate)
        self._neighbours = check_count("noise 'similarity': neighbours", neighbours)

    def corrupt(self, labels: np.ndarray, seed: int, features: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,), by features float (n, d), one row for each label.

        Raises ValueError: no features, or of another shape.
        """
        labels, classes, true = self.coded(labels)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            count = min(self._neighbours, len(classes) - 1)
            nearest = _nearest(_directions(len(classes), true, features), count)
            drawn = seeding.numpy_generator(seed, "noise/similarity").integers(0, count, size=len(hit))
            observed[hit] = classes[nearest[true[hit], drawn]]
        return noisy(labels, observed)


def _nearest(means: np.ndarray, count: int) -> np.ndarray:
    """int64 (K, count): for each class the most similar others, most similar first; the lowest number among ties."""
    blocks = []
    for start in range(0, len(means), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(means)))
        likeness = means[rows] @ means.T
        likeness[rows - start, rows] = -np.inf
        least = np.partition(likeness, -count, axis=1)[:, -count, None]
        above, ties = likeness > least, likeness == least
        kept = above | (ties & (ties.cumsum(axis=1) <= count - above.sum(axis=1, keepdims=True)))
        numbers = np.nonzero(kept)[1].reshape(-1, count)
        order = np.argsort(-np.take_along_axis(likeness, numbers, axis=1), axis=1, kind="stable")
        blocks.append(np.take_along_axis(numbers, order, axis=1))
    return np.concatenate(blocks)


def _directions(classes: int, true: np.ndarray, features: np.ndarray | None) -> np.ndarray:
    """The directions of the mean features of each class, float (K, d)."""
    if features is None:
        raise ValueError("noise 'similarity': needs features (n, d)")
    features = check_features(features, len(true))
    means = np.zeros((classes, features.shape[1]))
    np.add.at(means, true, features)
    means /= np.bincount(true)[:, None]
    length = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(length > 0, length, 1)


class SmallCluster(Rated):
    """Small-cluster noise: a small cluster of one class gets another class's label, like the result of a wrong query.

    Liu et al., "Noise-resistant deep metric learning with ranking-based instance selection" (PRISM), CVPR 2021, section
    4.1, cluster each class with k-means into many small clusters and give each cluster another class's label.
    Deviation: here a cluster is a random sample and its nearest class mates that have not flipped yet, so clusters have
    equal size and k-means is not needed.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("features",)

    def __init__(self, rate: float, size: int = 10) -> None:
        super().__init__(rate)
        self._size = check_count("noise 'small_cluster': size", size)

    def corrupt(self, labels: np.ndarray, seed: int, features: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        `features`: float (n, d), one row for each label. Without features a cluster is a random part of one class.
        """
        labels, classes, true = self.coded(labels)
        if features is not None:
            features = check_features(features, len(labels))
        generator = seeding.numpy_generator(seed, "noise/small_cluster")
        members = [np.flatnonzero(true == number) for number in range(len(classes))]  # not flipped yet
        observed = labels.copy()
        left = round(self.rate * len(labels))
        for center in generator.permutation(len(labels)):
            if left == 0:
                break
            if observed[center] != labels[center]:
                continue
            number = true[center]
            size = min(self._size, left)
            cluster = _cluster(members[number], center, size, features, generator)
            target = generator.integers(len(classes) - 1)
            observed[cluster] = classes[target + (target >= number)]
            members[number] = np.setdiff1d(members[number], cluster, assume_unique=True)
            left -= len(cluster)
        return noisy(labels, observed)


def _cluster(
    members: np.ndarray, center: int, size: int, features: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """The center and its nearest `size - 1` class mates, or random ones without features."""
    if features is None:
        distance = generator.random(len(members))
    else:
        distance = ((features[members] - features[center]) ** 2).sum(axis=1)
    distance[members == center] = -1.0
    return members[np.argsort(distance, kind="stable")[:size]]


class OpenSet(Rated):
    """Open-set noise: samples from outside the training classes carry the labels of training classes.

    Wang et al., "Iterative learning with open-set noisy labels", CVPR 2018. Here random training classes are the
    outside: they are removed from the label set, and their samples get labels of the remaining classes. Test classes
    cannot be the outside, because training would see them.

    The share `rate` of the samples that stay, to within one sample, comes from outside classes.

    Classes are moved outside in random order until they contain enough samples; the last is the smallest that suffices.
    Each outside sample gets a uniformly drawn remaining class. Labels of remaining classes do not change. Superfluous
    outside samples are left out, observed as -1; they number less than the smallest outside class over (1 - rate).
    Nothing changes if the rate amounts to less than one sample. `rate`: share of the samples that stay, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,).

        Raises ValueError: fewer than 2 classes would remain.
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
        count, observed = _outsiders(self.rate, int(sizes.sum() - sizes[outside].sum())), labels.copy()
        if count:
            strangers = generator.permutation(np.flatnonzero(np.isin(true, outside)))
            observed[strangers] = -1
            observed[strangers[:count]] = generator.choice(np.delete(classes, outside), size=count)
        return noisy(labels, observed)


def _outsiders(rate: float, inside: int) -> int:
    """The number of outside samples that make up the share `rate` together with `inside` samples."""
    return round(rate / (1 - rate) * inside)


def _outside(sizes: np.ndarray, rate: float, generator: np.random.Generator) -> np.ndarray:
    """Class numbers (m,), from class sizes (K,), with enough samples for the outside; every one of them is needed."""
    n = int(sizes.sum())
    if _outsiders(rate, n) == 0:
        return np.array([], dtype=np.int64)
    outside: list[int] = []
    last: list[int] = []
    held = 0
    for number in generator.permutation(len(sizes)):
        if held + sizes[number] >= _outsiders(rate, n - held - sizes[number]):
            last.append(number)
        else:
            outside.append(number)
            held += sizes[number]
    outside.append(min(last, key=lambda number: sizes[number]))
    held += sizes[outside[-1]]
    for number in outside[:-1]:
        if held - sizes[number] >= _outsiders(rate, n - held + sizes[number]):
            outside.remove(number)
            held -= sizes[number]
    return np.array(outside)
