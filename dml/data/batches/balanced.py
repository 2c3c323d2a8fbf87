"""Balanced batches: P classes x M samples of each, every class once an epoch.

The rules for epochs and for classes with fewer than M samples are those of `ClassBatches` in `_stream.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.data.batches._stream import ClassBatches


class Balanced:
    """P random classes, M random samples of each; no class and no sample is skipped for good.

    Parameters
    ----------
    labels : int64 (n,), as observed; -1 is never drawn.
    classes, per_class : P and M.
    seed : the same labels, settings and seed give the same batches.

    Raises
    ------
    ValueError : fewer than P classes.

    Examples
    --------
    >>> batches = Balanced(np.array([0, 0, 1, 1, 2, 2]), classes=2, per_class=2)
    >>> next(batches).shape
    (4,)
    """

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        self._batches = ClassBatches("balanced", labels, classes, per_class, seed, _any_order)

    def __iter__(self) -> Balanced:
        return self

    def __next__(self) -> np.ndarray:
        """int64 (P * M,) positions into the labels, class by class."""
        return self._batches.next()

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: JSON-able."""
        return self._batches.counter.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there. Raises a ValueError if the state is another sampler's."""
        self._batches.counter.load_state_dict(state)


def _any_order(names: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(len(names))
