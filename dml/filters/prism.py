"""PRISM: samples that agree with their class's memory less than others do are left out.

    P_clean(v) = exp(w_y . v) / sum_k exp(w_k . v)

with the unit embedding v of a sample of observed class y, and the mean w_k of class k's unit embeddings in a memory of
recent kept samples. Samples with P_clean above the mean of the last `window` batches' R-th quantiles take part.

Liu, Yu, Qin, Khan, Loy, "Noise-resistant deep metric learning with ranking-based instance selection", CVPR 2021
(arXiv 2103.16047), sections 3.2 and 3.3. `_selection.py` says what happens to classes without a memory.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from dml.filters._selection import Selection


class Prism(Selection):
    """Keeps the samples that are most probably clean. Parameters: see `Selection`.

    Example
    -------
    >>> keep = Prism(num_classes=100, embedding_size=64, rate=0.2)
    >>> kept = keep(embeddings, labels)  # bool (N,)
    """

    version: ClassVar[int] = 1

    def fit(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """The means, and 0."""
        return means, means.new_zeros(len(means))
