"""Proxy-Anchor (Kim et al. 2020, Proxy anchor loss for deep metric learning, eq. 4).

    1/|P+| sum_{p in P+} log(1 + sum_{x of p's class} exp(-alpha (s(x, p) - delta)))
  + 1/|P|  sum_{p in P}  log(1 + sum_{x of other classes} exp(alpha (s(x, p) + delta)))

P are the proxies, one per class, and P+ those with a sample in the batch.

Search space: around the paper's alpha 32 and delta 0.1 (its figure 5 has 4 to 64 and 0 to 0.4). The proxies' rate is
that of `proxy_nca`; the paper has 100 times the network's rate.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form
from dml.losses._proxies import draw, new_proxies, similarities
from dml.settings import check_above
from dml.types import LogUniform, Space, Uniform


class ProxyAnchor(nn.Module):
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
    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {"alpha": LogUniform(8, 64), "margin": Uniform(0.0, 0.4)}
    own_rate: ClassVar[Space] = LogUniform(1e-3, 1.0)

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        alpha: float = 32.0,
        margin: float = 0.1,
        normalize: bool = True,
    ):
        super().__init__()
        check_above("alpha", alpha, 0)
        if margin < 0:
            raise ValueError(f"margin: expected 0 or more, got {margin}")
        self.alpha, self.margin, self.normalize = alpha, margin, normalize
        self.stats: dict[str, Tensor] = {}
        self.proxies = new_proxies(num_classes, embedding_size)
        self.reset()

    def reset(self, generator: torch.Generator | None = None) -> None:
        """Draw new proxies, uniform in direction."""
        draw(self.proxies, generator)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        found, labels = similarities(embeddings, labels, self.proxies, self.normalize)
        count = found.shape[1]
        own = labels[:, None] == torch.arange(count, device=labels.device)
        away = torch.where(own, float("-inf"), self.alpha * (found + self.margin))
        near = torch.where(own, -self.alpha * (found - self.margin), float("-inf"))
        present = own.any(0).sum().clamp(min=1)
        return _soft_count(near).sum() / present + _soft_count(away).sum() / count


def _soft_count(exponents: Tensor) -> Tensor:
    """log(1 + sum of exp of each column), (N, C) -> (C,): 0 for a column of -infinity."""
    return torch.logsumexp(torch.nn.functional.pad(exponents, (0, 0, 1, 0)), 0)
