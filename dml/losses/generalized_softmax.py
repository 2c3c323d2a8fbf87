"""Generalised cross-entropy with class weights (Zhang and Sabuncu 2018, Generalized cross entropy loss, eq. 6).

    mean over the batch of (1 - p_y^q) / q,    p = softmax(cos(x, w) / temperature)

Against wrong labels: a sample weighs p_y^q times as much as in the cross-entropy, to which the loss tends for q to 0.
q = 1 is the mean absolute error, which is the most robust and learns slowest. The truncated form is left out.

Deviation: the paper's classifier has weights of any length and a bias; here they are of unit length, as in `softmax`.

Search space: q from the cross-entropy to the mean absolute error, around the paper's 0.7. The temperature is that of
`softmax`, the weights' rate that of `proxy_nca`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._proxies import SampleLoss
from dml.settings import check_above, check_within
from dml.types import LogUniform, Space, Uniform


class GeneralizedSoftmax(SampleLoss):
    """A classifier that gives up samples which it finds improbable. Its weights are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    q : 0 to 1, without 0.
    temperature : divides the cosines; > 0.
    sampled : the share of the classes that a step compares with (`_proxies.py`).
    normalize : L2-normalise the embeddings.
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
