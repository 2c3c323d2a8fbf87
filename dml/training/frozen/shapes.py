"""How large stored features and activations are, known before they are computed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch

from dml import models
from dml.data import augment as augmentations
from dml.training.descriptions import describe_augment, describe_backbone
from dml.types import TrainingSpec


def stored_shape(training: TrainingSpec, manifest: Mapping[str, Any]) -> tuple[int, ...]:
    """What is stored of an image: `(D,)` features, or `(views, C, H, W)` activations.

    Builds the backbone without memory for its weights, which it does not load.

    Parameters
    ----------
    training : of a trial on stored features or activations.
    manifest : `height`, `width` and `channels` of the packed images.

    Raises
    ------
    ValueError : the backbone has no such block, or rejects its settings.
    """
    described = describe_backbone(training, manifest)
    side = augmentations.build(**describe_augment(training, manifest)).image_size
    sides = (side, side) if side else (manifest["height"], manifest["width"])
    offline = models.find(training.backbone).without_weights(described)
    shape = _shape(json.dumps(offline, sort_keys=True), training.train_from, sides)
    return shape if training.train_from is None else (training.views, *shape)


def stored_bytes(training: TrainingSpec, manifest: Mapping[str, Any]) -> int:
    """Bytes of the stored features or activations of all images, 0 if the manifest lacks their number.

    Raises
    ------
    ValueError : as `stored_shape`.
    """
    images = manifest.get("images", 0)
    return images * math.prod(stored_shape(training, manifest)) * np.dtype(training.frozen_precision).itemsize


@cache
def _shape(described: str, block: str | None, sides: tuple[int, int]) -> tuple[int, ...]:
    settings = json.loads(described)
    with torch.device("meta"), torch.no_grad():
        backbone = models.build(**settings, embedding_size=1).backbone
        if block is None:
            return (int(backbone.features),)
        return tuple(models.lower(backbone, block)(torch.zeros(1, settings["channels"], *sides)).shape[1:])
