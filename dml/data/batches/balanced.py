"""Balanced batches: P classes x M samples of each, every class once an epoch.

The rules for epochs and for classes with fewer than M samples are those of `ClassBatches` in `_stream.py`.
"""

from __future__ import annotations

import numpy as np

from dml.data.batches._stream import ClassBatches, Sampler


class Balanced(Sampler):
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


def _any_order(names: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(len(names))
