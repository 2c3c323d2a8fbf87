"""Hierarchical batches: coarse classes first, then fine classes of each, then M samples of each fine class.

So many negatives come from the same coarse class, where they are hard. The coarse class of a fine class is the most
frequent one among the samples observed in it (label noise mixes them); ties go to the lowest.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.data.batches._stream import ClassBatches, ClassSampler, check_labels, check_shape


class Hierarchical(ClassSampler):
    """Balanced batches whose P classes form runs of one coarse class.

    Each epoch cuts the shuffled fine classes of every coarse class into runs of ceil(P / coarse_classes), and puts the
    runs in random order, the shorter ones last. Batches are consecutive groups of P classes. So every fine class is
    visited once per epoch, and a batch of full runs contains `coarse_classes` runs.

    Parameters
    ----------
    labels : int64 (n,), the fine labels as observed; samples with -1 are never drawn.
    classes, per_class : P and M.
    coarse : int64 (n,), the coarse labels of the same samples.
    coarse_classes : runs per batch, from 1 to P.
    seed : the same labels, settings and seed give the same batches.

    Raises
    ------
    ValueError : fewer than P fine classes, coarse labels of another length, or usable samples without one (-1).
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
        check_shape(classes, per_class)
        labels, coarse = check_labels(labels), np.asarray(coarse)
        if coarse.shape != labels.shape:
            raise ValueError(f"batches: {coarse.shape} coarse labels for {labels.shape} labels")
        without = int((coarse[labels >= 0] < 0).sum())
        if without:
            raise ValueError(
                f"batches: hierarchical: expected a coarse label of at least 0 for every sample, but {without} of "
                f"{int((labels >= 0).sum())} have none (-1). Choices for such data: balanced, random"
            )
        if not 1 <= coarse_classes <= classes:
            raise ValueError(f"batches: coarse_classes: expected 1 to {classes} (classes), got {coarse_classes}")
        self._coarse_of = _majority(labels, coarse)
        self._run = -(-classes // coarse_classes)
        self._batches = ClassBatches(
            "hierarchical", labels, classes, per_class, seed, self._order, coarse_classes, self._coarse_of.tolist()
        )

    def _order(self, names: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        shuffled = generator.permutation(len(names))
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
