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


def build(
    name: str, features: int, size: int, norm: bool = False, dropout: float = 0.0, normalize: bool = False
) -> nn.Module:
    """(N, features) -> (N, size).

    Parameters
    ----------
    name : `linear`; `mlp`, with a hidden layer as wide as the features and ReLU, the projection head of SimCLR
        (Chen et al., ICML 2020, sec. 2.1); or `none`: the features are the embeddings, and `size` is ignored.
    normalize : divide each row by its length before the last layer.
    norm, dropout : layer norm and dropout of the features before the head (Roth et al., ICML 2020, use the former).

    Raises
    ------
    ValueError : an unknown name; the message lists the choices.
    """
    if name not in HEADS:
        raise ValueError(f"head: unknown name {name!r}{suggestion(name, HEADS)}")
    if name == "none":
        return nn.Identity()
    layers: list[nn.Module] = [nn.LayerNorm(features)] if norm else []
    layers += [nn.Dropout(dropout)] if dropout else []
    layers += [nn.Linear(features, features), nn.ReLU()] if name == "mlp" else []
    layers.append((NormalizedLinear if normalize else nn.Linear)(features, size))
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)
