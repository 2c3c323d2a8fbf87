"""Proxy-Anchor (Kim et al. 2020, Proxy anchor loss for deep metric learning, eq. 4).

    1/|P+| sum_{p in P+} log(1 + sum_{x of p's class} exp(-alpha (s(x, p) - delta)))
  + 1/|P|  sum_{p in P}  log(1 + sum_{x of other classes} exp(alpha (s(x, p) + delta)))

P are the proxies, one per class, and P+ those with a sample in the batch.

Search space: around the paper's alpha 32 and delta 0.1 (its figure 5 has 4 to 64 and 0 to 0.4). The proxies' rate is
that of `proxy_nca`; the paper has 100 times the network's rate.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form
from dml.losses._proxies import ProxyLoss
from dml.settings import check_above, check_at_least
from dml.types import LogUniform, Space, Uniform


class ProxyAnchor(ProxyLoss):
    """Each proxy is an anchor that pulls its class's samples and pushes all others, the hard ones most.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    alpha : sharpness; > 0.
    margin : delta; >= 0.
    normalize : L2-normalise the embeddings (proxies always are).
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"alpha": LogUniform(8, 64), "margin": Uniform(0.0, 0.4)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        alpha: float = 32.0,
        margin: float = 0.1,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize)
        check_above("alpha", alpha, 0)
        check_at_least("margin", margin, 0)
        self.alpha, self.margin = alpha, margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        found, labels = self.similarities(embeddings, labels, self.normalize)
        count = found.shape[1]
        own = labels[:, None] == torch.arange(count, device=labels.device)
        away = torch.where(own, float("-inf"), self.alpha * (found + self.margin))
        near = torch.where(own, -self.alpha * (found - self.margin), float("-inf"))
        present = own.any(0).sum().clamp(min=1)
        return _soft_count(near).sum() / present + _soft_count(away).sum() / count


def _soft_count(exponents: Tensor) -> Tensor:
    """log(1 + sum of exp of each column), (N, C) -> (C,): 0 for a column of -infinity."""
    return torch.logsumexp(torch.nn.functional.pad(exponents, (0, 0, 1, 0)), 0)
