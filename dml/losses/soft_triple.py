"""SoftTriple (Qian et al. 2019, SoftTriple loss: deep metric learning without triplet sampling, eq. 7 to 9).

    mean over the batch of cross-entropy of  lambda (S_y - delta)  beside  lambda S_c,  c != y
  + tau / (C K (K - 1)) sum_c sum_{s < t} sqrt(2 - 2 w_cs . w_ct)

    S_c = sum_k softmax_k(x . w_ck / gamma) x . w_ck

w_ck are the K centres of class c, of unit length. The second term merges centres that a class does not need.

Search space: around the paper's lambda 20, gamma 0.1 and delta 0.01 (its section 5). The centres' rate is that of
`proxy_nca`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, products, safe_root, unit
from dml.losses._proxies import ProxyLoss
from dml.settings import check_above, check_at_least
from dml.types import LogUniform, Space, Uniform


class SoftTriple(ProxyLoss):
    """A classifier with several centres per class, of which each sample takes the nearest softly.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    centers : K, per class.
    scale : lambda; > 0.
    gamma : temperature of the choice of a centre; > 0.
    margin : delta; >= 0.
    merging : tau, the weight of the distances between a class's centres; >= 0.
    normalize : L2-normalise the embeddings (centres always are).
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "scale": LogUniform(5, 50),
        "gamma": LogUniform(0.03, 0.3),
        "margin": Uniform(0.0, 0.3),
    }

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        centers: int = 10,
        scale: float = 20.0,
        gamma: float = 0.1,
        margin: float = 0.01,
        merging: float = 0.2,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize, centers)
        check_above("scale", scale, 0)
        check_above("gamma", gamma, 0)
        check_at_least("margin", margin, 0)
        check_at_least("merging", merging, 0)
        self.scale, self.gamma, self.margin, self.merging = scale, gamma, margin, merging

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        found, labels = self.similarities(embeddings, labels, self.normalize)
        if not len(labels):
            return found.sum()
        logits = found
        if self.centers > 1:
            # A softmax by hand: of short rows it is the faster.
            shares = ((found - found.detach().amax(2, keepdim=True)) / self.gamma).exp()
            logits = (shares * found).sum(2) / shares.sum(2)
        margins = torch.zeros_like(logits).scatter_(1, labels[:, None], self.margin)
        loss = torch.nn.functional.cross_entropy(self.scale * (logits - margins), labels)
        return loss + self.merging * self._spread().to(loss.dtype) if self.merging and self.centers > 1 else loss

    def _spread(self) -> Tensor:
        """The sum of the distances of each class's centres, over C K (K - 1)."""
        centers = unit(self.proxies.flatten(0, 1)).view_as(self.proxies)
        squared = 2 - 2 * products(centers, centers)
        above = torch.ones_like(squared[0]).triu(1)
        return (safe_root(squared.clamp(min=0)) * above).sum() / (squared.numel() - squared.shape[0] * self.centers)
