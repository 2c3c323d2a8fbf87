"""Circle loss (Sun et al. 2020, Circle loss: a unified perspective of pair similarity optimization, eq. 4 to 8).

    mean over anchors of log(1 + sum_n exp(gamma a_n (s_n - m)) sum_p exp(-gamma a_p (s_p - 1 + m)))
    a_p = [1 + m - s_p]_+ ,  a_n = [s_n + m]_+

over the positives and negatives of each anchor that has both. The weights a are constants, as in the paper's code: no
gradient goes through them.

Search space: around the paper's gamma 80 and m 0.4 for fine-grained images, with its 256 and 0.25 for faces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from dml.losses._forms import Form, checked_labels
from dml.losses._pairs import PairLoss
from dml.losses.info_nce import log_sum_exp
from dml.settings import check_above, check_within
from dml.types import LogUniform, Space, Uniform


class Circle(PairLoss):
    """Weighs each similarity by how far it is from its optimum.

    Parameters
    ----------
    margin : m, the relaxation; 0 to 1.
    gamma : sharpness; > 0.
    normalize : L2-normalise the embeddings.
    memory : {size: ..., warm_up: ...}, as `_pairs.py` describes it; None: only the batch.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"gamma": LogUniform(20, 320), "margin": Uniform(0.1, 0.6)}

    def __init__(
        self,
        margin: float = 0.4,
        gamma: float = 80.0,
        normalize: bool = True,
        memory: Mapping[str, Any] | None = None,
    ):
        super().__init__(normalize, memory)
        check_above("gamma", gamma, 0)
        check_within("margin", margin, 0, 1)
        self.margin, self.gamma = margin, gamma

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """embeddings (N, D), labels int (N,), tuples in any form of `_forms` -> scalar."""
        labels = checked_labels(embeddings, labels)
        geometry, positives, negatives = self.compare(embeddings, labels, tuples)
        similarities = geometry.matrix
        both = positives.amax(1, keepdim=True) * negatives.amax(1, keepdim=True) if len(labels) else positives
        weights = torch.relu(1 + self.margin - similarities).mul_(-self.gamma)
        pull, pulled = log_sum_exp((similarities - (1 - self.margin)).mul_(weights), positives)
        derivative = pulled.mul_(weights)
        weights = torch.relu(similarities + self.margin).mul_(self.gamma)
        push, pushed = log_sum_exp((similarities - self.margin).mul_(weights), negatives)
        derivative.add_(pushed.mul_(weights))
        total = (pull + push) * both
        over = both.sum().clamp(min=1)
        self.stats = {"anchor_share": both.sum() / max(len(labels), 1)}
        value = (torch.nn.functional.softplus(total, threshold=80) * both).sum() / over
        return geometry.finish(value, derivative.mul_(torch.sigmoid(total) * both), over=over)
