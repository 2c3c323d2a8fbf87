"""Augmentation of whole batches, on their device. A pipeline is one file here.

`augment(images, training, generator)` maps uint8 (B, C, H, W) to float32 (B, C', h, w), at random only in training.
"""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.discovery import check_object
from dml.protocols import Augmentation


def build(name: str, **settings: Any) -> Augmentation:
    """A pipeline by its name.

    `name`: a pipeline's file name here, or a dotted path. `settings`: `channels` (1 or 3; None: those of the input),
    `normalization` (`"imagenet"`, `"none"` for values from 0 to 1, or `{"mean": [...], "std": [...]}` on that scale),
    and the pipeline's own, such as `image_size` (side in pixels). Each pipeline has defaults. Raises ValueError: an
    unknown name or setting, or a class of another package that lacks members of `dml.protocols.Augmentation`.
    """
    augmentation = discovery.build("dml.data.augment", name, **settings)
    check_object(augmentation, Augmentation, f"augmentation {name!r}")
    return augmentation


__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
