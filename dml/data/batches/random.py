"""Random batches: P * M samples, whatever their classes, every sample once an epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.data.batches._stream import SAMPLES, Counter, Shuffles, check_labels, check_shape


class Random:
    """Batches of `classes * per_class` random samples; an epoch's last batch is filled up with its first samples.

    Parameters
    ----------
    labels : int64 (n,), as observed; -1 is never drawn. With fewer usable samples than a batch has, samples stand in it
        several times.
    classes, per_class : only their product, the size of a batch, counts here.
    seed : the same labels, settings and seed give the same batches.
    """

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        check_shape(classes, per_class)
        labels = check_labels(labels)
        self._size = classes * per_class
        self._positions = np.flatnonzero(labels >= 0)
        self._shuffles = Shuffles(seed)
        self._counter = Counter(labels, "random", self._size, seed)
        self._epoch = -1
        self._order = self._positions

    def __iter__(self) -> Random:
        return self

    def __next__(self) -> np.ndarray:
        """int64 (P * M,) positions into the labels."""
        epoch, place = divmod(self._counter.batch, -(-len(self._positions) // self._size))
        if epoch != self._epoch:
            self._order = self._shuffles.generator(SAMPLES, 0, epoch).permutation(self._positions)
            self._epoch = epoch
        self._counter.batch += 1
        return self._order.take(range(place * self._size, (place + 1) * self._size), mode="wrap")

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: JSON-able."""
        return self._counter.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there. Raises a ValueError if the state is another sampler's."""
        self._counter.load_state_dict(state)
