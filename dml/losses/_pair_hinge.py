"""The hinge loss over a batch's positive pairs that `lifted_hinge` and `hphn_triplet` share."""

from __future__ import annotations

import torch
from torch import Tensor

from dml.losses._rows import unless_finite
from dml.losses.synthesis import NearestPairs


def mean_hinge(x: Tensor, positive: Tensor, near: NearestPairs, margin: float) -> tuple[Tensor, Tensor]:
    """Mean of [positive - near.distance + margin]_+ over the pairs with a negative, and the active share: 0-d both.

    x : (N, D), the embeddings; the mean is NaN if one is not finite.
    positive : (P,), the distances that are to be small.
    """
    losses = torch.relu(positive + margin - near.distance) * near.exists
    count = near.exists.sum().clamp(min=1)
    return losses.sum() / count + unless_finite(x), (losses.detach() > 0).sum() / count
