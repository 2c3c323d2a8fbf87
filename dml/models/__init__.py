"""Backbones and the embedding head: images (N, C, H, W) -> embeddings (N, D), not normalised.

A backbone with weights to start from has `statistics(**settings)`: the `{"mean": [...], "std": [...]}` that images,
from 0 to 1, were normalised by when the weights were trained; None for settings without weights.
"""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.models._embedder import Embedder


def build(
    backbone: str, *, embedding_size: int, channels: int = 3, image_size: int | None = None, **settings: Any
) -> Embedder:
    """A network from images to embeddings.

    Parameters
    ----------
    backbone : the name of a file in `dml/models` (`small_conv`, `eps_mnist`, `mlp`, `torchvision`, `timm`), or a dotted
        path to a class with the same constructor and a `features` attribute.
    embedding_size : D, the width of the embeddings.
    channels : C of the images it will see.
    image_size : side of the square images in pixels, for backbones whose layers depend on it.

    Raises
    ------
    ValueError : an unknown backbone or setting; the message lists the choices.
    """
    if embedding_size < 1:
        raise ValueError(f"embedding_size: expected at least 1, got {embedding_size}")
    part = discovery.build("dml.models", backbone, channels=channels, image_size=image_size, **settings)
    return Embedder(part, embedding_size)


__all__ = ["Embedder", "build"]
