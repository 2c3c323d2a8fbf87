"""PRISM: samples that agree with their class's memory less than others do are left out.

    P_clean(v) = exp(w_y . v) / sum_k exp(w_k . v)

with the unit embedding v of a sample of observed class y, and the mean w_k of class k's unit embeddings in a memory of
recent kept samples. Samples with P_clean above the mean of the last `window` batches' R-th quantiles take part.

Liu, Yu, Qin, Khan, Loy, "Noise-resistant deep metric learning with ranking-based instance selection", CVPR 2021
(arXiv 2103.16047), sections 3.2 and 3.3. `_selection.py` says what happens to classes without a memory.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from dml.filters._selection import Selection


class Prism(nn.Module):
    """Keeps the samples that are most probably clean.

    Parameters
    ----------
    num_classes, embedding_size : K and D; a trial fills them in.
    rate : R, the assumed share of wrong labels; a study fills in its own rate unless it sets one.
    memory : entries of the memory.
    window : batches whose quantiles are averaged.
    warm_up : steps that keep every sample.

    Attributes
    ----------
    stats : of the last call: `kept_share`, 0-d.

    Example
    -------
    >>> keep = Prism(num_classes=100, embedding_size=64, rate=0.2)
    >>> kept = keep(embeddings, labels)  # bool (N,)
    """

    version: ClassVar[int] = 1

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        rate: float,
        memory: int = 9_500,
        window: int = 30,
        warm_up: int = 100,
    ):
        super().__init__()
        self.selection = Selection(_fit, num_classes, embedding_size, rate, memory, window, warm_up)
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,): which samples take part."""
        kept = self.selection(embeddings, labels)
        self.stats = {"kept_share": kept.double().mean()}
        return kept


def _fit(means: Tensor) -> tuple[Tensor, Tensor]:
    return means, means.new_zeros(len(means))
