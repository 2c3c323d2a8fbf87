"""Embedding heads: features -> embeddings."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from dml.discovery import suggestion

HEADS = ("none", "linear", "mlp")


class NormalizedLinear(nn.Linear):
    """(N, features) -> (N, size): a linear layer on rows divided by their length, as whitening is fitted to."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(functional.normalize(input))


def build(name: str, features: int, size: int, normalize: bool = False) -> nn.Module:
    """(N, features) -> (N, size).

    Parameters
    ----------
    name : `linear`; `mlp`, with a hidden layer as wide as the features and ReLU, the projection head of SimCLR
        (Chen et al., ICML 2020, sec. 2.1); or `none`: the features are the embeddings, and `size` is ignored.
    normalize : divide each row by its length before the last layer.

    Raises
    ------
    ValueError : an unknown name; the message lists the choices.
    """
    if name not in HEADS:
        raise ValueError(f"head: unknown name {name!r}{suggestion(name, HEADS)}")
    if name == "none":
        return nn.Identity()
    last = (NormalizedLinear if normalize else nn.Linear)(features, size)
    return last if name == "linear" else nn.Sequential(nn.Linear(features, features), nn.ReLU(), last)
