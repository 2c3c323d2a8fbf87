"""Augmentation of whole batches, on their device. A pipeline is one file here.

A pipeline maps uint8 (B, C, H, W) to float32 (B, C', h, w): `augment(images, training, generator)`. All randomness
comes from the generator (on the CPU or on the images' device). With `training=False` nothing is random.
"""

from __future__ import annotations

from dml import discovery
from dml.data.augment._build import build

__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
