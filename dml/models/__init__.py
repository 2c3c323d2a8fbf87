"""Backbones and the embedding network: images (N, C, H, W) -> embeddings (N, D), not normalised.

    network = dml.models.build("small_conv", embedding_size=64, channels=1)

`dml.protocols.Backbone` says what a backbone provides; `find` gives its class, for its class members.
"""

from __future__ import annotations

from dml import discovery
from dml.models._blocks import blocks
from dml.models._build import build, build_head, by_content, find, with_files
from dml.models._division import FromBlock, check_block, divided, lower
from dml.models._network import EmbeddingNetwork

__all__ = [
    "EmbeddingNetwork",
    "FromBlock",
    "blocks",
    "build",
    "build_head",
    "by_content",
    "check_block",
    "divided",
    "find",
    "lower",
    "with_files",
]

__getattr__, __dir__ = discovery.lazy(__name__)
