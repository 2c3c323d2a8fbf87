"""Softmax classification of the embeddings, and two variants for wrong labels. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from dml.losses.proxies import SampleLoss
from dml.settings import check_above, check_choice, check_within
from dml.types import Choice, LogUniform, Space, Uniform


class Softmax(SampleLoss):
    """Softmax classification of the embeddings: cross-entropy over the training classes, as a loss for metric learning.

    normalized:      logits = cos(x, w_c) / temperature     (Zhai and Wu 2019, Classification is a strong baseline)
    not normalized:  logits = (x . w_c + b_c) / temperature

    Search space: the temperature around Zhai and Wu's 0.05, down to where gradients are those of the largest logit
    alone. The rate of the class weights is that of a loss's parameters in powerful-benchmarker, as for `proxy_nca`.

    Parameters
    ----------
    temperature : divides the logits; > 0.
    normalized : class weights on the unit sphere, without bias.
    num_classes, embedding_size, normalize : see `ProxyLoss`.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"temperature": LogUniform(0.02, 0.5)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        temperature: float = 0.05,
        normalized: bool = True,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize)
        check_above("temperature", temperature, 0)
        self.temperature, self.normalized = temperature, normalized
        self.bias = None if normalized else nn.Parameter(torch.zeros(num_classes))

    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """similarities (N, C), labels int64 (N,) -> (N,)."""
        logits = similarities if self.bias is None else similarities + self.bias.to(similarities.dtype)
        return torch.nn.functional.cross_entropy(logits / self.temperature, labels, reduction="none")


class GeneralizedSoftmax(SampleLoss):
    """Generalised cross-entropy with class weights (Zhang and Sabuncu 2018, Generalized cross entropy loss, eq. 6).

        mean over the batch of (1 - p_y^q) / q,    p = softmax(cos(x, w) / temperature)

    Against wrong labels: a sample weighs p_y^q times as much as in the cross-entropy, to which the loss tends for q
    to 0. q = 1 is the mean absolute error, which is the most robust and learns slowest. Deviations: the truncated form
    is left out, and class weights are of unit length without a bias, as in `softmax`.

    Search space: q from the cross-entropy to the mean absolute error, around the paper's 0.7. The temperature is
    that of `softmax`, the weights' rate that of `proxy_nca`.

    Parameters
    ----------
    q : 0 to 1, without 0.
    temperature : divides the cosines; > 0.
    num_classes, embedding_size, sampled, normalize : see `ProxyLoss`.
    """

    version: ClassVar[int] = 1
    exact: ClassVar[bool] = True  # improbable samples have small weights, by differences of large logits
    search_space: ClassVar[dict[str, Space]] = {"q": Uniform(0.1, 1.0), "temperature": LogUniform(0.02, 0.5)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        q: float = 0.7,
        temperature: float = 0.05,
        sampled: float = 1.0,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize, sampled=sampled)
        check_above("temperature", temperature, 0)
        check_above("q", q, 0)
        check_within("q", q, 0, 1)
        self.q, self.temperature = q, temperature

    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """similarities (N, C), labels int64 (N,) -> (N,)."""
        losses = torch.nn.functional.cross_entropy(similarities / self.temperature, labels, reduction="none")
        return -torch.expm1(-self.q * losses) / self.q


FORMS = ("hard", "soft")


class BootstrapSoftmax(SampleLoss):
    """Bootstrapped cross-entropy with class weights (Reed et al. 2015, Training deep neural networks on noisy labels).

        mean over the batch of -sum_c (beta y_c + (1 - beta) z_c) log p_c,    p = softmax(cos(x, w) / temperature)

    Against wrong labels: the target is in part the prediction. `soft` (eq. 6): z = p, with its gradient, which makes
    predictions certain (entropy regularisation). `hard` (eq. 7): z is 1 for the most probable class. Deviation: class
    weights are of unit length without a bias, as in `softmax`.

    Search space: beta from half to nearly the cross-entropy, around the paper's 0.95 (soft) and 0.8 (hard). The
    temperature is that of `softmax`, the weights' rate that of `proxy_nca`.

    Parameters
    ----------
    beta : weight of the labels; 0 to 1.
    form : `hard` or `soft`.
    temperature : divides the cosines; > 0.
    num_classes, embedding_size, sampled, normalize : see `ProxyLoss`.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {
        "beta": Uniform(0.5, 0.99),
        "form": Choice(FORMS),
        "temperature": LogUniform(0.02, 0.5),
    }

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        beta: float = 0.8,
        form: str = "hard",
        temperature: float = 0.05,
        sampled: float = 1.0,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, normalize, sampled=sampled)
        check_above("temperature", temperature, 0)
        check_choice("form", form, FORMS)
        check_within("beta", beta, 0, 1)
        self.beta, self.form, self.temperature = beta, form, temperature

    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """similarities (N, C), labels int64 (N,) -> (N,)."""
        logs = torch.log_softmax(similarities / self.temperature, 1)
        predicted = (logs.exp() * logs).sum(1) if self.form == "soft" else logs.amax(1)
        return -self.beta * logs.gather(1, labels[:, None])[:, 0] - (1 - self.beta) * predicted
