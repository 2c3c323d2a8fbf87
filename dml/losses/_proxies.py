"""What losses with learned centres of classes share: the centres, their checks and cosines."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dml.losses._rows import prepared, products, unit
from dml.losses._settings import check_classes, check_size, checked_labels
from dml.settings import check_above


def new_proxies(num_classes: int, embedding_size: int, centers: int = 1) -> nn.Parameter:
    """Centres (num_classes, embedding_size), or (num_classes, centers, embedding_size) of several; not drawn yet."""
    for name, value in (("num_classes", num_classes), ("embedding_size", embedding_size), ("centers", centers)):
        check_above(name, value, 0)
    return nn.Parameter(torch.empty(num_classes, *(() if centers == 1 else (centers,)), embedding_size))


def draw(proxies: Tensor, generator: torch.Generator | None = None) -> None:
    """Draw centres anew, uniform in direction."""
    nn.init.normal_(proxies, std=proxies.shape[-1] ** -0.5, generator=generator)


def similarities(embeddings: Tensor, labels: Tensor, proxies: Tensor, normalize: bool) -> tuple[Tensor, Tensor]:
    """Each embedding times each centre of unit length, (N, C) or (N, C, centers), and the labels int64 (N,).

    Raises
    ------
    ValueError : other shapes or types than the loss was built for.
    """
    labels = checked_labels(embeddings, labels)
    check_size(embeddings, proxies.shape[-1])
    check_classes(labels, len(proxies))
    x = prepared(embeddings, normalize)
    return products(x, unit(proxies.to(x.dtype).flatten(0, -2))).view(len(x), *proxies.shape[:-1]), labels
