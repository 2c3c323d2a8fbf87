"""PRISM with a von Mises-Fisher distribution of each class, for noise above one half.

    P_clean(v) = f_y(v) / sum_k f_k(v),   f_k(v) = c_D(kappa_k) exp(kappa_k mu_k . v)
    kappa_k = r (D - r^2) / (1 - r^2)

with the direction mu_k and the length r of the mean of class k's unit embeddings in the memory, and
c_D(kappa) = kappa^(D/2 - 1) / ((2 pi)^(D/2) I_(D/2 - 1)(kappa)). Everything is in logarithms, since the constants
overflow. The threshold and the memory are PRISM's.

Liu et al., "Noise-resistant deep metric learning with probabilistic instance filtering", arXiv 2108.01431. The
concentration: Banerjee et al., "Clustering on the unit hypersphere using von Mises-Fisher distributions", JMLR 2005,
section 4.4. Deviation: r counts as at most `LONGEST`, since a class with one sample in the memory has r = 1 and an
infinite concentration.

Search space: the rate as for `prism`, and on to 0.8, as it is made for noise above one half. It has no default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor, nn

from dml.filters._bessel import log_bessel
from dml.filters._selection import Selection
from dml.types import Space, Uniform

LONGEST = 0.99
SHORTEST = 1e-4  # a mean of length 0 has no direction, and the distribution is then nearly uniform


class PrismVmf(nn.Module):
    """Keeps the samples that are most probably clean, by a distribution of each class.

    Parameters
    ----------
    num_classes, embedding_size : K and D, D at least 2; a trial fills them in.
    rate : R, the assumed share of wrong labels; a study fills in its own rate unless it sets one.
    memory : entries of the memory.
    window : batches whose quantiles are averaged.
    warm_up : steps that keep every sample.

    Attributes
    ----------
    stats : of the last call: `kept_share`, 0-d.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[Mapping[str, Space]] = {"rate": Uniform(0.05, 0.8)}

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
        if embedding_size < 2:
            raise ValueError(f"embedding_size: expected at least 2 dimensions; got {embedding_size!r}")
        self.selection = Selection(_fit, num_classes, embedding_size, rate, memory, window, warm_up)
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,): which samples take part."""
        kept = self.selection(embeddings, labels)
        self.stats = {"kept_share": kept.double().mean()}
        return kept


def _fit(means: Tensor) -> tuple[Tensor, Tensor]:
    """Means (n, D) -> kappa mu (n, D) and log c_D(kappa) (n,)."""
    dimension = means.shape[1]
    length = means.norm(dim=1, keepdim=True)
    r = length.clamp(SHORTEST, LONGEST)
    kappa = r * (dimension - r**2) / (1 - r**2)
    direction = means / length.clamp_min(SHORTEST)
    order, single = dimension / 2 - 1, kappa[:, 0]
    constant = order * single.log() - log_bessel(order, single) - dimension / 2 * math.log(2 * math.pi)
    return kappa * direction, constant
