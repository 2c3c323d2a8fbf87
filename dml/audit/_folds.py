"""Folds of images, stratified by the given label."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import seeding
from dml.audit._inputs import check_labels


def deal(codes: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The fold of every image, int64 (n,), in 0..count-1; -1 for images whose code is -1.

    The images of a class are dealt to the folds in turn, in random order, so that the folds' shares of a class differ
    by at most one image. The first fold differs between classes: small classes fill all folds equally.
    """
    draw = seeding.numpy_generator(seed, "audit/folds")
    order = draw.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    order = order[codes[order] >= 0]
    out = np.full(len(codes), -1, dtype=np.int64)
    out[order] = np.arange(len(order)) % count
    return out


def folds_of(labels: Any, folds: int = 5, seed: int = 0) -> np.ndarray:
    """The fold of every image in `dml.audit.audit` with these arguments, int64 (n,); -1: beyond judgement.

    Raises
    ------
    ValueError : labels that cannot be audited.
    """
    codes = check_labels(labels).codes
    return deal(codes, min(folds, int((codes >= 0).sum())), seed)
