"""Balanced batches: P classes x M samples of each, every class once per epoch.

`ClassBatches` in `_stream.py` states the rules for epochs and for classes with fewer than M samples.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.data.batches._stream import ClassBatches, ClassSampler


class Balanced(ClassSampler):
    """P random classes, M random samples of each; every class and every sample is drawn eventually.

    Parameters
    ----------
    labels : int64 (n,), as observed; samples with -1 are never drawn.
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

    version: ClassVar[int] = 1
    needs_coarse: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    def __init__(self, labels: np.ndarray, classes: int, per_class: int, seed: int = 0) -> None:
        self._batches = ClassBatches("balanced", labels, classes, per_class, seed, _any_order)


def _any_order(names: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(len(names))
