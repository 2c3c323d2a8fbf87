"""What learns a representation from labels, instead of an array that is there before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Learner(Protocol):
    """Learns vectors from labels, such as by training a network.

    `dml.audit.audit` takes one in place of an array. It never sees the label of an image whose prediction its vectors
    are for.
    """

    digest: str  # of all that decides the vectors beside the labels: images, settings, versions

    def __call__(self, observed: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """For each array of labels, the vectors that are learned from these labels only.

        Parameters
        ----------
        observed : each int64 (n,): classes from 0 to K - 1, or -1: the image's label is held out. One for each fold.

        Returns
        -------
        Floats (n, D) of all n images, as many arrays as `observed` has. They may be mapped files.
        """
        ...
