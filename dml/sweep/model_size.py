"""How many bytes of models a study will keep, before it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from dml import models
from dml.config import Study
from dml.data import augment as augmentations
from dml.files import read_json
from dml.sweep.keys import canonical
from dml.sweep.models import policy
from dml.types import Cell

UNKNOWN = {"channels": 3, "height": 64}  # of images that are not packed yet and not resized


@dataclass(frozen=True)
class KeptModels:
    """What `resources.keep_models` means for a study."""

    policy: str  # `best`, `cells` or `all`
    models: int  # that stay when the sweep ends
    bytes_each: int  # of the largest one
    bytes: int  # of all that stay
    peak_bytes: int  # before the others are deleted: one for each cell and seed


def kept_models(study: Study, data: Path | None = None) -> KeptModels:
    """Estimate the models that a study will keep. Builds each network without memory for its weights.

    Parameters
    ----------
    data : `data/<study>`, whose `pack.json` gives the images' sizes. Without it they are RGB of `resize` pixels, or 64.

    Raises
    ------
    ValueError : a network cannot be built for these images.
    """
    cells = study.cells()
    sizes = [_bytes_of(study, cell, data) for cell in cells]
    each = max(sizes)
    chosen = policy(study, sum(sizes))
    number, total = {
        "best": (1, each),
        "cells": (len(cells), sum(sizes)),
        "all": (len(cells) * len(study.seeds), sum(sizes) * len(study.seeds)),
    }[chosen]
    return KeptModels(chosen, number, each, total, sum(sizes) * len(study.seeds))


def _bytes_of(study: Study, cell: Cell, data: Path | None) -> int:
    """The bytes of a cell's model."""
    training = study.training_of(cell)
    image = {**UNKNOWN, **_image_of(study, cell, data)}
    backbone = models.find(training.backbone)
    augment = augmentations.build(training.augment, **{"channels": image["channels"], **training.augment_settings})
    network = {
        "backbone": training.backbone,
        "embedding_size": training.embedding_size,
        "channels": backbone.channels_for(image["channels"]),
        "image_size": augment.image_size or image["height"],
        **training.backbone_settings,
    }
    return _bytes(canonical({**network, **backbone.without_weights(network)}))


def _image_of(study: Study, cell: Cell, data: Path | None) -> dict[str, Any]:
    if data is not None and (manifest := (read_json(data / "pack.json") or {}).get(cell.dataset)):
        return {name: manifest[name] for name in UNKNOWN if manifest.get(name)}
    resize = study.dataset(cell.dataset).resize
    return {"height": resize} if resize else {}


@cache
def _bytes(network: str) -> int:
    """The bytes of a network's weights."""
    with torch.device("meta"):
        model = models.build(**json.loads(network))
    return sum(value.numel() * value.element_size() for value in model.state_dict().values())
