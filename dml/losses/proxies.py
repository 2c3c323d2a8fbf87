"""Losses with learned centres of classes: the centres, and cosines with them. Each class is a part."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.losses._forms import Form, check_classes, check_size, checked_labels, prepared, products, safe_root, unit
from dml.settings import Shown, check_above, check_at_least, check_within
from dml.types import LogUniform, Space, Uniform


class ProxyLoss(Shown, nn.Module):
    """The base of losses that compare samples with learned centres of classes, `proxies` (C, D) or (C, centers, D).

    Parameters
    ----------
    num_classes, embedding_size : C, labels are 0 .. C - 1; D.
    normalize : L2-normalise the embeddings.
    sampled : the share of the classes that a step compares with, in (0, 1]: those of the batch, and others at random
        from torch's global state, which a trial seeds (An et al. 2022, Killing two birds with one stone: partial FC).
        Products, and what the backward pass keeps, are of these; the gradient of the centres has all rows.
    """

    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[Mapping[str, Any]] = {}
    exact: ClassVar[bool] = False  # without normalisation all is in float64
    normalized: bool = True  # of the centres
    parameter_rate: ClassVar[Space] = LogUniform(1e-3, 1.0)

    def __init__(self, num_classes: int, embedding_size: int, normalize: bool, centers: int = 1, sampled: float = 1.0):
        super().__init__()
        for name, value in (("num_classes", num_classes), ("embedding_size", embedding_size), ("centers", centers)):
            check_above(name, value, 0)
        check_above("sampled", sampled, 0)
        check_within("sampled", sampled, 0, 1)
        self.normalize, self.centers, self.sampled = normalize, centers, sampled
        self.stats: dict[str, Tensor] = {}
        self.proxies = nn.Parameter(torch.empty(num_classes, *(() if centers == 1 else (centers,)), embedding_size))
        self.reset()

    def reset(self, generator: torch.Generator | None = None) -> None:
        """Draw new centres, uniform in direction."""
        nn.init.normal_(self.proxies, std=self.proxies.shape[-1] ** -0.5, generator=generator)

    def similarities(self, embeddings: Tensor, labels: Tensor, normalize: bool) -> tuple[Tensor, Tensor]:
        """Each embedding times each (sampled) centre of unit length, (N, C) or (N, C, centers), and labels of these."""
        labels = checked_labels(embeddings, labels)
        check_size(embeddings, self.proxies.shape[-1])
        check_classes(labels, len(self.proxies))
        proxies: Tensor = self.proxies
        count = min(len(proxies), max(math.ceil(self.sampled * len(proxies)), len(labels)))
        if count < len(proxies):
            order = torch.rand(len(proxies)).to(labels.device, non_blocking=True)
            order[labels] = 2.0  # before all others
            classes = order.topk(count).indices.sort().values
            proxies, labels = proxies.index_select(0, classes), torch.searchsorted(classes, labels)
        x = prepared(embeddings.double() if self.exact and not normalize else embeddings, normalize)
        centers = proxies.to(x.dtype).flatten(0, -2)
        return products(x, unit(centers) if self.normalized else centers).view(len(x), *proxies.shape[:-1]), labels


class SampleLoss(ProxyLoss):
    """The mean of a loss of each sample."""

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        losses, _ = self.per_tuple(embeddings, labels)
        return losses.sum() / max(len(losses), 1)

    def per_tuple(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> tuple[Tensor, Tensor]:
        """Each sample's loss, and weight 1: (N,) both."""
        losses = self.each(*self.similarities(embeddings, labels, self.normalize))
        losses = losses.to(torch.promote_types(embeddings.dtype, torch.float32))
        return losses, torch.ones_like(losses)

    @abstractmethod
    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """similarities (N, C) or (N, C, centers), labels int64 (N,) -> (N,)."""


class ProxyNca(SampleLoss):
    """Proxy-NCA (Movshovitz-Attias et al. 2017, No fuss distance metric learning using proxies, eq. 4).

        mean over the batch of -log( exp(-D(s x, s p_y)) / sum_{c != y} exp(-D(s x, s p_c)) )

    D is squared, x and the proxies p are on the unit sphere and s is `scale`, so D = 2 s^2 (1 - cos). The denominator
    does not contain the positive proxy (pytorch-metric-learning's does). The loss is computed as D_y + log sum
    exp(-D_c), since exp(-D_y) may underflow: a mislabelled sample would then get loss 0 and no gradient, and look
    robust.

    Search space: the scale around 3, which is ProxyNCA++'s temperature of 1/9 (Teh et al. 2020). The proxies' rate is
    that of a loss's parameters in powerful-benchmarker, log-uniform up to 1, less what is too slow for few steps
    (Musgrave et al. 2020, config_optimizers/with_metric_loss_optimizer_bayes_opt.yaml); Proxy-Anchor (Kim et al. 2020)
    has 100 times the network's rate.

    Parameters
    ----------
    scale : s, the radius of the sphere; > 0.
    num_classes, embedding_size, normalize : see `ProxyLoss`. With one class the loss is 0.
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
        to_class = squared.gather(1, labels[:, None])[:, 0]
        if self.proxies.shape[0] == 1:
            losses = 0 * to_class
        else:
            others = (-squared).scatter(1, labels[:, None], float("-inf"))
            losses = to_class + torch.logsumexp(others, 1)
        return losses, torch.ones_like(losses)


class ProxyAnchor(ProxyLoss):
    """Proxy-Anchor (Kim et al. 2020, Proxy anchor loss for deep metric learning, eq. 4).

        1/|P+| sum_{p in P+} log(1 + sum_{x of p's class} exp(-alpha (s(x, p) - delta)))
      + 1/|P|  sum_{p in P}  log(1 + sum_{x of other classes} exp(alpha (s(x, p) + delta)))

    P are the proxies, one per class, and P+ those with a sample in the batch.

    Search space: around the paper's alpha 32 and delta 0.1 (its figure 5 has 4 to 64 and 0 to 0.4). The proxies' rate
    is that of `proxy_nca`; the paper has 100 times the network's rate.

    Parameters
    ----------
    alpha : sharpness; > 0.
    margin : delta; >= 0.
    num_classes, embedding_size, sampled, normalize : see `ProxyLoss`.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"alpha": LogUniform(8, 64), "margin": Uniform(0.0, 0.4)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        alpha: float = 32.0,
        margin: float = 0.1,
        sampled: float = 1.0,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize, sampled=sampled)
        check_above("alpha", alpha, 0)
        check_at_least("margin", margin, 0)
        self.alpha, self.margin = alpha, margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,) in 0 .. num_classes - 1; tuples are ignored -> scalar."""
        cosines, labels = self.similarities(embeddings, labels, self.normalize)
        count = cosines.shape[1]
        positive = labels[:, None] == torch.arange(count, device=labels.device)
        away = torch.where(positive, float("-inf"), self.alpha * (cosines + self.margin))
        near = torch.where(positive, -self.alpha * (cosines - self.margin), float("-inf"))
        present = positive.any(0).sum().clamp(min=1)
        return _soft_count(near).sum() / present + _soft_count(away).sum() / count


def _soft_count(exponents: Tensor) -> Tensor:
    """log(1 + sum of exp of each column), (N, C) -> (C,): 0 for a column of -infinity."""
    return torch.logsumexp(torch.nn.functional.pad(exponents, (0, 0, 1, 0)), 0)


class SoftTriple(ProxyLoss):
    """SoftTriple (Qian et al. 2019, SoftTriple loss: deep metric learning without triplet sampling, eq. 7 to 9).

        mean over the batch of cross-entropy of  lambda (S_y - delta)  beside  lambda S_c,  c != y
      + tau / (C K (K - 1)) sum_c sum_{s < t} sqrt(2 - 2 w_cs . w_ct)

        S_c = sum_k softmax_k(x . w_ck / gamma) x . w_ck

    w_ck are the K centres of class c, of unit length. The second term merges centres that a class does not need.

    Search space: around the paper's lambda 20, gamma 0.1 and delta 0.01 (its section 5). The centres' rate is that of
    `proxy_nca`.

    Parameters
    ----------
    centers : K, per class.
    scale : lambda; > 0.
    gamma : temperature of the choice of a centre; > 0.
    margin : delta; >= 0.
    merging : tau, the weight of the distances between a class's centres; >= 0.
    num_classes, embedding_size, normalize : see `ProxyLoss`.
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
        logits, labels = self.similarities(embeddings, labels, self.normalize)
        if not len(labels):
            return logits.sum()
        if self.centers > 1:
            # A softmax by hand: of short rows it is the faster.
            shares = ((logits - logits.detach().amax(2, keepdim=True)) / self.gamma).exp()
            logits = (shares * logits).sum(2) / shares.sum(2)
        margins = torch.zeros_like(logits).scatter_(1, labels[:, None], self.margin)
        loss = torch.nn.functional.cross_entropy(self.scale * (logits - margins), labels)
        return loss + self.merging * self._spread().to(loss.dtype) if self.merging and self.centers > 1 else loss

    def _spread(self) -> Tensor:
        """The sum of the distances of each class's centres, over C K (K - 1)."""
        centers = unit(self.proxies.flatten(0, 1)).view_as(self.proxies)
        squared = 2 - 2 * products(centers, centers)
        above = torch.ones_like(squared[0]).triu(1)
        return (safe_root(squared.clamp(min=0)) * above).sum() / (squared.numel() - squared.shape[0] * self.centers)


class Arcface(SampleLoss):
    """ArcFace, CosFace and their combination (Deng et al. 2019, ArcFace, eq. 4), with sub-centres (Deng et al. 2020).

        mean over the batch of cross-entropy of  s (cos(m1 t_y + m2) - m3)  beside  s cos t_c,  c != y

    t_c is the angle between the embedding and class c's weights: with several centres the least of theirs (Sub-center
    ArcFace, eq. 2), so that wrong labels can gather at a centre of their own. ArcFace is m1 = 1, m3 = 0; CosFace (Wang
    et al. 2018) is m1 = 1, m2 = 0; SphereFace's margin (Liu et al. 2017) is m1.

    Deviation: where m1 t + m2 passes pi, the logit goes on as -2 - cos(m1 t + m2) (SphereFace, sec. 3.2), which has no
    jump and still falls; ArcFace's code takes cos t - m2 sin m2 there.

    Search space: around the scale 64 and margin 0.5 of faces, down to those of few classes and steps (Musgrave et al.
    2020 search 0.01 to 100 and 0 to 0.9 on CUB-200-2011). The rate of the weights is that of `proxy_nca`.

    Parameters
    ----------
    margin : m2, added to the angle of the right class, in radians; 0 to pi / 2.
    cosine_margin : m3, taken from its cosine: CosFace's; >= 0.
    factor : m1, by which its angle is multiplied: SphereFace's; >= 1.
    scale : s; > 0.
    centers : per class.
    num_classes, embedding_size, sampled : see `ProxyLoss`.
    normalize : has no effect, since angles have no length.
    """

    version: ClassVar[int] = 2
    search_space: ClassVar[dict[str, Space]] = {"scale": LogUniform(8, 128), "margin": Uniform(0.0, 0.8)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        margin: float = 0.5,
        cosine_margin: float = 0.0,
        factor: float = 1.0,
        scale: float = 64.0,
        centers: int = 1,
        sampled: float = 1.0,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, True, centers, sampled)
        check_above("scale", scale, 0)
        check_within("margin", margin, 0, math.pi / 2)
        check_at_least("cosine_margin", cosine_margin, 0)
        check_at_least("factor", factor, 1)
        self.margin, self.cosine_margin, self.factor, self.scale = margin, cosine_margin, factor, scale

    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """Cosines (N, C) or (N, C, centers), labels int64 (N,) -> (N,)."""
        cosines = similarities.amax(2) if self.centers > 1 else similarities
        with_margin = self._with_margin(cosines.gather(1, labels[:, None]))
        logits = self.scale * cosines.scatter(1, labels[:, None], with_margin)
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    def _with_margin(self, cosines: Tensor) -> Tensor:
        """(N, 1) -> (N, 1)."""
        if self.margin or self.factor != 1:
            inside = 1 - 4 * torch.finfo(cosines.dtype).eps  # the slope of the angle is infinite at 0 and pi
            angles = cosines.clamp(-inside, inside).acos()
            angles = angles + (cosines.detach().clamp(-1, 1).acos() - angles.detach())  # to its end, without its slope
            angles = self.factor * angles + self.margin
            turns = (angles.detach() / math.pi).floor()  # SphereFace's k
            cosines = (1 - 2 * (turns % 2)) * angles.cos() - 2 * turns
        return cosines - self.cosine_margin
