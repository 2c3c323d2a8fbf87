"""Bootstrapped cross-entropy with class weights (Reed et al. 2015, Training deep neural networks on noisy labels).

    mean over the batch of -sum_c (beta y_c + (1 - beta) z_c) log p_c,    p = softmax(cos(x, w) / temperature)

Against wrong labels: the target is in part the prediction. `soft` (eq. 6): z = p, with its gradient, which makes
predictions certain (entropy regularisation). `hard` (eq. 7): z is 1 for the most probable class.

Deviation: the paper's classifier has weights of any length and a bias; here they are of unit length, as in `softmax`.

Search space: beta from half to nearly the cross-entropy, around the paper's 0.95 (soft) and 0.8 (hard). The
temperature is that of `softmax`, the weights' rate that of `proxy_nca`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._proxies import SampleLoss
from dml.settings import check_above, check_choice, check_within
from dml.types import Choice, LogUniform, Space, Uniform

FORMS = ("hard", "soft")


class BootstrapSoftmax(SampleLoss):
    """A classifier whose targets are labels mixed with its own predictions. Its weights are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    beta : weight of the labels; 0 to 1.
    form : `hard` or `soft`.
    temperature : divides the cosines; > 0.
    sampled : the share of the classes that a step compares with (`_proxies.py`).
    normalize : L2-normalise the embeddings.
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
        own = (logs.exp() * logs).sum(1) if self.form == "soft" else logs.amax(1)
        return -self.beta * logs.gather(1, labels[:, None])[:, 0] - (1 - self.beta) * own
