"""Proxy-NCA (Movshovitz-Attias et al. 2017, No fuss distance metric learning using proxies, eq. 4).

    mean over the batch of -log( exp(-D(s x, s p_y)) / sum_{c != y} exp(-D(s x, s p_c)) )

D is squared, x and the proxies p are on the unit sphere and s is `scale`, so D = 2 s^2 (1 - cos). The denominator does
not contain the positive proxy (pytorch-metric-learning's does). The loss is computed as D_y + log sum exp(-D_c), since
exp(-D_y) may underflow: a mislabelled sample would then get loss 0 and no gradient, and look robust.

Search space: the scale around 3, which is ProxyNCA++'s temperature of 1/9 (Teh et al. 2020). The proxies' rate is
that of a loss's parameters in powerful-benchmarker, log-uniform up to 1, less what is too slow for few steps
(Musgrave et al. 2020, config_optimizers/with_metric_loss_optimizer_bayes_opt.yaml); Proxy-Anchor (Kim et al. 2020)
has 100 times the network's rate.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, check_classes, check_size, checked_labels, prepared, products, unit
from dml.losses._proxies import SampleLoss
from dml.settings import check_above
from dml.types import LogUniform, Space


class ProxyNca(SampleLoss):
    """One learned proxy per class: a sample near its own proxy and far from the others. Proxies are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1. With one class the loss is 0.
    embedding_size : D.
    scale : s, the radius of the sphere; > 0.
    normalize : L2-normalise the embeddings (proxies always are).
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"scale": LogUniform(1, 8)}

    def __init__(self, num_classes: int, embedding_size: int, scale: float = 3.0, normalize: bool = True):
        super().__init__(num_classes, embedding_size, normalize)
        check_above("scale", scale, 0)
        self.scale = scale

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each sample's loss, and weight 1: (N,) both."""
        labels = checked_labels(embeddings, labels)
        check_size(embeddings, self.proxies.shape[1])
        check_classes(labels, self.proxies.shape[0])
        x = prepared(embeddings, self.normalize)
        p = unit(self.proxies.to(x.dtype))
        length = x.square().sum(1, keepdim=True) if self.normalize else 0  # cancels, but not in float32 if it is large
        squared = self.scale**2 * (length + 1 - 2 * products(x, p))  # less scale^2 |x|^2 without normalisation
        own = squared.gather(1, labels[:, None])
        if self.proxies.shape[0] == 1:
            losses = 0 * own[:, 0]
        else:
            others = (-squared).scatter(1, labels[:, None], float("-inf"))
            losses = own[:, 0] + torch.logsumexp(others, 1)
        return losses, torch.ones_like(losses)
