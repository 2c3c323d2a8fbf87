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
from dml.training.descriptions import describe_backbone, image_shape
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
    ValueError : the backbone has no such block, takes no images of this size, or rejects its settings.
    """
    offline = models.find(training.backbone).without_weights(describe_backbone(training, manifest))
    shape = _shape(json.dumps(offline, sort_keys=True), training.train_from, image_shape(training, manifest))
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
def _shape(described: str, block: str | None, images: tuple[int, int, int]) -> tuple[int, ...]:
    settings = json.loads(described)

    @torch.no_grad()
    def run() -> tuple[int, ...]:
        backbone: Any = models.build(**settings, embedding_size=1).backbone
        features = models.width_of(backbone, f"backbone {settings['backbone']!r}", *images)
        if block is None:
            return (features,)
        return tuple(models.BeforeBlock(backbone, block)(torch.zeros(1, *images)).shape[1:])

    return models.without_memory(run)
