"""Proxy-NCA (Movshovitz-Attias et al. 2017, No fuss distance metric learning using proxies, eq. 4).

    mean over the batch of -log( exp(-D(s x, s p_y)) / sum_{c != y} exp(-D(s x, s p_c)) )

D squared, x and the proxies p on the unit sphere, s = scale, so that D = 2 s^2 (1 - cos). The positive proxy is not
in the denominator (it is in pytorch-metric-learning's). Computed as D_y + log sum exp(-D_c): where exp(-D_y)
underflows, a mislabelled sample would else get loss 0 and no gradient, and look robust.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form
from dml.losses._geometry import prepared, unit
from dml.losses._settings import check_above, checked_labels
from dml.types import LogUniform, Space


class ProxyNca(nn.Module):
    """One learned proxy a class: a sample near its own and far from the others. Its proxies are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1. With a single class the loss is 0.
    embedding_size : D.
    scale : s, the radius of the sphere; > 0.
    normalize : L2-normalise the embeddings (proxies always are).
    """

    version: ClassVar[int] = 1
    uses_tuples: ClassVar[bool] = False
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {"scale": LogUniform(1, 8)}

    def __init__(self, num_classes: int, embedding_size: int, scale: float = 3.0, normalize: bool = True):
        super().__init__()
        check_above("num_classes", num_classes, 0)
        check_above("embedding_size", embedding_size, 0)
        check_above("scale", scale, 0)
        self.scale, self.normalize = scale, normalize
        self.stats: dict[str, Tensor] = {}
        self.proxies = nn.Parameter(torch.empty(num_classes, embedding_size))
        self.reset()

    def reset(self, generator: torch.Generator | None = None) -> None:
        """Draw the proxies anew, uniformly in direction."""
        nn.init.normal_(self.proxies, std=self.proxies.shape[1] ** -0.5, generator=generator)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        losses, weights = self.per_tuple(embeddings, labels)
        return losses.sum() / max(len(weights), 1)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each sample's loss and its weight, 1: (N,) both."""
        labels = checked_labels(embeddings, labels)
        x = prepared(embeddings, self.normalize)
        p = unit(self.proxies.to(x.dtype))
        with torch.autocast(x.device.type, enabled=False):
            products = x @ p.T
        squared = self.scale**2 * (x.square().sum(1, keepdim=True) + 1 - 2 * products)
        own = squared.gather(1, labels[:, None].long())
        if self.proxies.shape[0] == 1:
            losses = 0 * own[:, 0]
        else:
            others = (-squared).scatter(1, labels[:, None].long(), float("-inf"))
            losses = own[:, 0] + torch.logsumexp(others, 1)
        return losses, torch.ones_like(losses)
