"""Random batches: P * M samples of any classes, every sample once per epoch."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dml.data.batches._stream import SAMPLES, Counter, Shuffles, check_labels, check_shape


class Random:
    """Batches of `classes * per_class` random samples. An epoch's last batch is filled with the epoch's first samples.

    Parameters
    ----------
    labels : int64 (n,), as observed; samples with -1 are never drawn. If there are fewer usable samples than a batch
        has places, a batch repeats samples.
    classes, per_class : only their product, the batch size, is used.
    seed : the same labels, settings and seed give the same batches.
    """

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = False
    bounded: ClassVar[bool] = False

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        check_shape(classes, per_class)
        labels = check_labels(labels)
        self._size = classes * per_class
        self._positions = np.flatnonzero(labels >= 0)
        self._shuffles = Shuffles(seed)
        self._counter = Counter(labels.tobytes(), "random", self._size, seed)
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
        """The place of the iteration, as plain values."""
        return self._counter.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from that place. Raises a ValueError if the state belongs to another sampler."""
        self._counter.load_state_dict(state)
