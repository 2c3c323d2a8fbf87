"""Shared by the samplers: streams of positions that are pure functions of a seed and a place in the stream.

NumPy's counter-based Philox generator gives the random permutation for (kind, number, pass): the seed is its key, those
three are its counter. So any place in any stream is reached without computing the places before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dml import seeding

CLASSES, MEMBERS, FILLERS, SAMPLES = range(4)  # kinds of streams; they share no random numbers


class Shuffles:
    """Random generators by (kind, number, pass)."""

    def __init__(self, seed: int) -> None:
        self._key = [seeding.derive(seed, "batches"), seeding.derive(seed, "batches/2")]

    def generator(self, kind: int, number: int, turn: int) -> np.random.Generator:
        """The generator of this place. Philox uses the first word of the counter itself."""
        return np.random.Generator(np.random.Philox(key=self._key, counter=[0, kind, number, turn]))


class Counter:
    """The number of the next batch, saved with a fingerprint of everything that determines the batches."""

    def __init__(self, labels: bytes, *settings: Any) -> None:
        self.batch = 0
        self._fingerprint = hashlib.sha256(labels + repr(settings).encode()).hexdigest()[:16]

    def state_dict(self) -> dict[str, Any]:
        return {"batch": self.batch, "fingerprint": self._fingerprint}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["fingerprint"] != self._fingerprint:
            raise ValueError(
                "batches: this state belongs to other labels, other settings or another seed "
                f"(fingerprint {state['fingerprint']}, expected {self._fingerprint})"
            )
        self.batch = int(state["batch"])


class ClassSampler:
    """The iteration and the state of a sampler that has its `ClassBatches` in `_batches`."""

    _batches: ClassBatches

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> np.ndarray:
        """int64 (P * M,) positions into the labels, class by class."""
        return self._batches.next()

    def state_dict(self) -> dict[str, Any]:
        """The place of the iteration, as plain values."""
        return self._batches.counter.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from that place. Raises a ValueError if the state belongs to another sampler."""
        self._batches.counter.load_state_dict(state)


class ClassBatches:
    """Batches of P classes x M samples. A function gives the order of the classes in each epoch.

    An epoch visits each of the K classes once, in ceil(K / P) batches. Its last batch is filled with the first classes
    of the epoch's order. A pass over a class visits its n samples in ceil(n / M) visits. Its last visit is filled with
    the first samples of the pass. So a class with fewer than M samples gives each of them floor(M / n) or ceil(M / n)
    times. No batch contains a class twice, or a sample twice unless its class has fewer than M samples.
    """

    def __init__(
        self,
        name: str,
        labels: np.ndarray,
        classes: int,
        per_class: int,
        seed: int,
        order: Callable[[np.ndarray, np.random.Generator], np.ndarray],
        *fingerprint: Any,
    ) -> None:
        check_shape(classes, per_class)
        labels = check_labels(labels)
        self._shuffles = Shuffles(seed)
        self.counter = Counter(labels.tobytes(), name, classes, per_class, seed, *fingerprint)
        self._classes, self._per_class, self._epoch_order = classes, per_class, order
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

    def next(self) -> np.ndarray:
        """The next batch: int64 (P * M,), class by class."""
        epoch, place = divmod(self.counter.batch, self.epoch_length)
        if epoch != self._epoch:
            self._order = self._epoch_order(self._names, self._shuffles.generator(CLASSES, 0, epoch))
            self._epoch = epoch
        first = place * self._classes
        batch = np.empty((self._classes, self._per_class), dtype=np.int64)
        for row, at in enumerate(range(first, first + self._classes)):
            if at < len(self._order):
                batch[row] = self._visit(int(self._order[at]), epoch)
            else:
                batch[row] = self._filler(int(self._order[at - len(self._order)]), epoch)
        self.counter.batch += 1
        return batch.reshape(-1)

    def _visit(self, number: int, epoch: int) -> np.ndarray:
        low, high = self._starts[number], self._starts[number + 1]
        size = int(high - low)
        turn, visit = divmod(epoch, -(-size // self._per_class))
        start = visit * self._per_class
        if turn != self._pass[number]:
            permutation = self._shuffles.generator(MEMBERS, number, turn).permutation(size)
            self._shuffled[low:high] = self._members[low:high][permutation]
            self._pass[number] = turn
        return self._shuffled[low:high].take(range(start, start + self._per_class), mode="wrap")

    def _filler(self, number: int, epoch: int) -> np.ndarray:
        """A second visit in this epoch: random samples, independent of the class's passes."""
        low, high = self._starts[number], self._starts[number + 1]
        permutation = self._shuffles.generator(FILLERS, number, epoch).permutation(int(high - low))
        return self._members[low + permutation.take(range(self._per_class), mode="wrap")]


def check_shape(classes: int, per_class: int) -> None:
    """Raise a ValueError unless both numbers are at least 1."""
    if classes < 1 or per_class < 1:
        raise ValueError(f"batches: expected at least 1 class x 1 sample, got {classes} x {per_class}")


def check_labels(labels: np.ndarray) -> np.ndarray:
    """Labels as int64 (n,), -1 for samples left out. Raises a ValueError for other labels, or if all are left out."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"batches: expected integer labels (n,), got {labels.dtype} {labels.shape}")
    labels = labels.astype(np.int64)
    if len(labels) and labels.min() < -1:
        raise ValueError(f"batches: expected labels from 0 (-1: left out), got {labels.min()}")
    if not (labels >= 0).any():
        raise ValueError(f"batches: none of the {len(labels)} labels is usable (all are -1: left out)")
    return labels
