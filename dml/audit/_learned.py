"""Representations that are learned from labels: for each fold of images, from the labels of the other folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from dml.audit._inputs import check_vectors
from dml.audit.learner import Learner


def observed_labels(codes: np.ndarray, folds: np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
    """What the vectors of each fold are learned from, int64 (n,): the labels of the kept images of the other folds.

    A class without a kept image there is learned from those that are not kept.

    Parameters
    ----------
    codes : int64 (n,), the given class; -1: not judged.
    folds : int64 (n,), the fold, or -1.
    kept : bool (n,).
    """
    out = []
    for fold in range(int(folds.max()) + 1):
        others = (codes >= 0) & (folds != fold)
        missing = np.setdiff1d(codes[others], codes[others & kept])
        out.append(np.where(others & (kept | np.isin(codes, missing)), codes, -1))
    return out


def learned(name: str, learner: Learner, observed: Sequence[np.ndarray]) -> list[Tensor]:
    """The vectors of each fold, float32 (n, D). Mapped files stay mapped.

    Raises
    ------
    ValueError : the learner returned another number of arrays, or something that is not n finite vectors.
    """
    found = learner([labels.copy() for labels in observed])
    if len(found) != len(observed):
        raise ValueError(f"audit: {name!r}: expected vectors for each of the {len(observed)} folds, got {len(found)}")
    return [check_vectors(f"{name}, fold {fold}", values, len(observed[fold])) for fold, values in enumerate(found)]
