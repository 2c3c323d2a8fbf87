"""Backbones and the embedding network: images (N, C, H, W) -> embeddings (N, D), not normalised.

    network = dml.models.build("small_conv", embedding_size=64, channels=1)

`dml.protocols.Backbone` says what a backbone provides; `find` gives its class, for its class members.
"""

from __future__ import annotations

from dml import discovery
from dml.models._division import BeforeBlock, FromBlock, check_block, has_layer_norm
from dml.models._layers import Layers, blocks
from dml.models._network import (
    EmbeddingNetwork,
    build,
    build_head,
    by_content,
    check_settings,
    components_of,
    find,
    packages_of,
    pixels_of,
    with_files,
)
from dml.models._wrapped import width_of, without_memory

__all__ = [
    "BeforeBlock",
    "EmbeddingNetwork",
    "FromBlock",
    "Layers",
    "blocks",
    "build",
    "build_head",
    "by_content",
    "check_block",
    "check_settings",
    "components_of",
    "find",
    "has_layer_norm",
    "packages_of",
    "pixels_of",
    "width_of",
    "with_files",
    "without_memory",
]

__getattr__, __dir__ = discovery.lazy(__name__)
