"""Labels as they were given, by people or by a search, beside the verified ones: no noise is added.

A dataset states both (`docs/datasets.md`). Training images are those whose given label is a training class, as in life:
some of them may belong to other classes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml.arrays import host_array
from dml.noise._labels import check_labels, check_rate, noisy
from dml.types import NoisyLabels


class Given:
    """Observes the given labels. The seed has no effect.

    Parameters
    ----------
    rate : the share of wrong labels under which a study lists them. It is not chosen but counted: `corrupt`, the stage,
        compares the two.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("given",)
    topline: ClassVar[bool] = False
    makes_noise: ClassVar[bool] = False

    def __init__(self, rate: float = 0.0) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int, given: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        Parameters
        ----------
        given : int64 (n,), the labels as they came; -1 leaves a sample out.

        Raises
        ------
        ValueError : there are none, or there is not one for each label.
        """
        labels = check_labels(labels)
        if given is None:
            raise ValueError("noise 'given': the dataset has no labels as given (a column `given`, or an option)")
        observed = host_array(given, "noise 'given': given")
        if observed.shape != labels.shape or observed.dtype.kind not in "iu":
            raise ValueError(
                f"noise 'given': given: expected integers {labels.shape}, got {observed.dtype} {observed.shape}"
            )
        return noisy(labels, observed.astype(np.int64))
