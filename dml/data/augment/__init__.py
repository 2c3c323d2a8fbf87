"""Augmentation of whole batches, on the device they are on. A pipeline is one file here.

A pipeline turns uint8 (B, C, H, W) into float32 (B, C', h, w): `augment(images, training, generator)`. All that is
random comes from the generator (a CPU one, or one on the images' device); with `training=False` nothing is random. Its
attribute `image_size` is the side of what it gives, or None where that is the side of what it is given.
"""

from __future__ import annotations

from typing import Any

from dml import discovery


def build(name: str, **settings: Any) -> Any:
    """A pipeline by its name.

    Parameters
    ----------
    name : a pipeline's file name here, or a dotted path.
    settings : `image_size` (side in pixels), `channels` (1 or 3; None: as they come), `normalization` (`"imagenet"`,
        `"none"` for 0 to 1, or `{"mean": [...], "std": [...]}` on that scale), and the pipeline's own. Trials take
        a pretrained backbone's own statistics where none are given; else each pipeline has a default.

    Raises
    ------
    ValueError : an unknown name or setting.
    """
    return discovery.build("dml.data.augment", name, **settings)
