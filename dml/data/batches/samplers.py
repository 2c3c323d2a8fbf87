"""The samplers. Each class is a part."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from dml import seeding

CLASSES, MEMBERS, FILLERS, SAMPLES = range(4)  # kinds of streams; they share no random numbers


class Counted:
    """An endless iterator whose state is the number of the next batch, and a fingerprint of all that determines it."""

    def __init__(self, labels: np.ndarray, seed: int, *settings: Any) -> None:
        self._batch = 0
        self._key = [seeding.derive(seed, "batches"), seeding.derive(seed, "batches/2")]
        self._fingerprint = hashlib.sha256(labels.tobytes() + repr(settings).encode()).hexdigest()[:16]

    def __iter__(self) -> Self:
        return self

    def generator(self, kind: int, number: int, turn: int) -> np.random.Generator:
        """The random generator of (kind, number, pass). Philox uses the first word of the counter itself."""
        return np.random.Generator(np.random.Philox(key=self._key, counter=[0, kind, number, turn]))

    def state_dict(self) -> dict[str, Any]:
        """The place of the iteration, as plain values."""
        return {"batch": self._batch, "fingerprint": self._fingerprint}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from that place. Raises a ValueError if the state belongs to another sampler."""
        if state["fingerprint"] != self._fingerprint:
            raise ValueError(
                "batches: this state belongs to other labels, other settings or another seed "
                f"(fingerprint {state['fingerprint']}, expected {self._fingerprint})"
            )
        self._batch = int(state["batch"])


class ClassBatches(Counted):
    """Batches of P classes x M samples.

    An epoch visits each of the K classes once, in ceil(K / P) batches. Its last batch is filled with the first classes
    of the epoch's order. A pass over a class visits its n samples in ceil(n / M) visits. Its last visit is filled with
    the first samples of the pass. So a class with fewer than M samples gives each of them floor(M / n) or ceil(M / n)
    times. No batch contains a class twice, or a sample twice unless its class has fewer than M samples.
    """

    def __init__(
        self, name: str, labels: np.ndarray, classes: int, per_class: int, seed: int, *fingerprint: Any
    ) -> None:
        labels = check_labels(labels, classes, per_class)
        super().__init__(labels, seed, name, classes, per_class, seed, *fingerprint)
        self._classes, self._per_class = classes, per_class
        drawn = np.flatnonzero(labels >= 0)
        names, inverse, sizes = np.unique(labels[drawn], return_inverse=True, return_counts=True)
        members = drawn[np.argsort(inverse, kind="stable")]  # by class, then by position
        if len(names) < classes:
            raise ValueError(
                f"batches: {classes} classes per batch, but the {len(drawn)} usable labels have only {len(names)}"
            )
        self._names, self._members = names, members
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._shuffled = members.copy()  # each class's current pass
        self._pass = np.full(len(names), -1, dtype=np.int64)
        self._epoch = -1
        self._order = np.arange(len(names))
        self.epoch_length = -(-len(names) // classes)

    def __next__(self) -> np.ndarray:
        """int64 (P * M,) positions into the labels, class by class."""
        epoch, position = divmod(self._batch, self.epoch_length)
        if epoch != self._epoch:
            self._order = self.order(self.generator(CLASSES, 0, epoch))
            self._epoch = epoch
        first = position * self._classes
        batch = np.empty((self._classes, self._per_class), dtype=np.int64)
        for row, at in enumerate(range(first, first + self._classes)):
            if at < len(self._order):
                batch[row] = self._visit(int(self._order[at]), epoch)
            else:
                batch[row] = self._filler(int(self._order[at - len(self._order)]), epoch)
        self._batch += 1
        return batch.reshape(-1)

    @abstractmethod
    def order(self, generator: np.random.Generator) -> np.ndarray:
        """The order of the classes in an epoch, int64 (K,)."""

    def _visit(self, number: int, epoch: int) -> np.ndarray:
        low, high = self._starts[number], self._starts[number + 1]
        size = int(high - low)
        turn, visit = divmod(epoch, -(-size // self._per_class))
        start = visit * self._per_class
        if turn != self._pass[number]:
            permutation = self.generator(MEMBERS, number, turn).permutation(size)
            self._shuffled[low:high] = self._members[low:high][permutation]
            self._pass[number] = turn
        return self._shuffled[low:high].take(range(start, start + self._per_class), mode="wrap")

    def _filler(self, number: int, epoch: int) -> np.ndarray:
        """A second visit in this epoch: random samples, independent of the class's passes."""
        low, high = self._starts[number], self._starts[number + 1]
        permutation = self.generator(FILLERS, number, epoch).permutation(int(high - low))
        return self._members[low + permutation.take(range(self._per_class), mode="wrap")]


def check_labels(labels: np.ndarray, classes: int, per_class: int) -> np.ndarray:
    """Labels as int64 (n,), -1 for samples left out. Raises a ValueError: other labels, all left out, or no batch."""
    if classes < 1 or per_class < 1:
        raise ValueError(f"batches: expected at least 1 class x 1 sample, got {classes} x {per_class}")
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"batches: expected integer labels (n,), got {labels.dtype} {labels.shape}")
    labels = labels.astype(np.int64)
    if len(labels) and labels.min() < -1:
        raise ValueError(f"batches: expected labels from 0 (-1: left out), got {labels.min()}")
    if not (labels >= 0).any():
        raise ValueError(f"batches: none of the {len(labels)} labels is usable (all are -1: left out)")
    return labels


class Balanced(ClassBatches):
    """P random classes x M random samples of each, every class once per epoch; every sample is drawn eventually.

    `labels`: int64 (n,), as observed; samples with -1 are never drawn. The same labels, settings and seed give the same
    batches. Raises ValueError: fewer than P classes.
    """

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        super().__init__("balanced", labels, classes, per_class, seed)

    def order(self, generator: np.random.Generator) -> np.ndarray:
        """Any order."""
        return generator.permutation(len(self._names))


class Random(Counted):
    """Random batches: `classes * per_class` samples of any classes, every sample once per epoch.

    An epoch's last batch is filled with the epoch's first samples. `labels` and `seed` as of `Balanced`. If there are
    fewer usable samples than a batch has places, a batch repeats samples.
    """

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = False
    bounded: ClassVar[bool] = False

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        labels = check_labels(labels, classes, per_class)
        self._size = classes * per_class
        self._positions = np.flatnonzero(labels >= 0)
        super().__init__(labels, seed, "random", self._size, seed)
        self._epoch = -1
        self._order = self._positions

    def __next__(self) -> np.ndarray:
        """int64 (P * M,) positions into the labels."""
        epoch, position = divmod(self._batch, -(-len(self._positions) // self._size))
        if epoch != self._epoch:
            self._order = self.generator(SAMPLES, 0, epoch).permutation(self._positions)
            self._epoch = epoch
        self._batch += 1
        return self._order.take(range(position * self._size, (position + 1) * self._size), mode="wrap")


class Hierarchical(ClassBatches):
    """Coarse classes first, then fine classes of each, then M samples of each: many negatives of the same coarse class.

    The coarse class of a fine class is the most frequent one among the samples observed in it; ties go to the lowest.
    Each epoch cuts the shuffled fine classes of every coarse class into runs of ceil(P / coarse_classes), and puts the
    runs in random order, the shorter ones last. Batches are consecutive groups of P classes.

    `labels` and `seed` as of `Balanced`. `coarse`: int64 (n,), the coarse labels of the same samples. `coarse_classes`:
    runs per batch, from 1 to P. Raises ValueError: fewer than P fine classes, or usable samples without a coarse label.
    """

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    def __init__(
        self,
        labels: np.ndarray,
        classes: int,
        per_class: int,
        coarse: np.ndarray,
        coarse_classes: int = 2,
        seed: int = 0,
    ) -> None:
        labels, coarse = check_labels(labels, classes, per_class), np.asarray(coarse)
        if coarse.shape != labels.shape:
            raise ValueError(f"batches: {coarse.shape} coarse labels for {labels.shape} labels")
        if without := int((coarse[labels >= 0] < 0).sum()):
            raise ValueError(
                f"batches: hierarchical: expected a coarse label of at least 0 for every sample, but {without} of "
                f"{int((labels >= 0).sum())} have none (-1). Choices for such data: balanced, random"
            )
        if not 1 <= coarse_classes <= classes:
            raise ValueError(f"batches: coarse_classes: expected 1 to {classes} (classes), got {coarse_classes}")
        self._coarse_of = _majority(labels, coarse)
        self._run = -(-classes // coarse_classes)
        fingerprint = (coarse_classes, self._coarse_of.tolist())
        super().__init__("hierarchical", labels, classes, per_class, seed, *fingerprint)

    def order(self, generator: np.random.Generator) -> np.ndarray:
        """Runs of one coarse class, in random order."""
        shuffled = generator.permutation(len(self._names))
        by_coarse = shuffled[np.argsort(self._coarse_of[shuffled], kind="stable")]
        groups = np.split(by_coarse, np.flatnonzero(np.diff(self._coarse_of[by_coarse])) + 1)
        runs = [group[start : start + self._run] for group in groups for start in range(0, len(group), self._run)]
        shuffled_runs = [runs[i] for i in generator.permutation(len(runs))]
        return np.concatenate(sorted(shuffled_runs, key=lambda run: len(run) < self._run))


def _majority(labels: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """int64 (K,): the most frequent coarse label of each usable class, in the order of the class labels."""
    drawn = labels >= 0
    pairs, counts = np.unique(np.stack([labels[drawn], coarse[drawn]]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -counts, pairs[0]))
    first = np.unique(pairs[0][order], return_index=True)[1]
    return pairs[1][order][first]
