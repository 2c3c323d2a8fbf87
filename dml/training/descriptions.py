"""A network and its preprocessing as plain JSON values, which rebuild them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml import models
from dml.data import augment as augmentations
from dml.data.packing import of_vectors
from dml.training import free
from dml.training.closed_form import NORMALIZED
from dml.types import TrainingSpec


def describe_augment(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The augmentation's name and settings.

    It uses the statistics of the backbone's pretrained weights, unless the study sets `normalization`.

    Parameters
    ----------
    manifest : of the packed images.
    """
    backbone = models.find(training.backbone)
    settings: dict[str, Any] = {"channels": backbone.channels_for(manifest["channels"])}
    statistics = backbone.statistics(**training.backbone_settings)
    if statistics is not None:
        settings["normalization"] = statistics
    return {"name": training.augment, **settings, **training.augment_settings}


def describe_backbone(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The backbone's name (`backbone`), the `channels` and `image_size` that it takes, and its own settings.

    Raises
    ------
    ValueError : it takes square images, which these are not.
    """
    vectors, height = of_vectors(manifest), manifest["height"]
    side = None if vectors else augmentations.build(**describe_augment(training, manifest)).image_size
    width = height if vectors or side else manifest["width"]
    if height != width and getattr(models.find(training.backbone), "square", False):
        raise ValueError(
            f"backbone {training.backbone!r}: expected square images, got {height} x {width}: set the dataset's "
            "`resize`"
        )
    return {
        "backbone": training.backbone,
        "channels": models.find(training.backbone).channels_for(manifest["channels"]),
        "image_size": side or height,
        **training.backbone_settings,
        **({"layers": True} if training.layers else {}),
    }


def image_shape(training: TrainingSpec, manifest: Mapping[str, Any]) -> tuple[int, int, int]:
    """(C, H, W) of the images that the network takes."""
    side = augmentations.build(**describe_augment(training, manifest)).image_size
    sides = (side, side) if side else (manifest["height"], manifest["width"])
    return models.find(training.backbone).channels_for(manifest["channels"]), *sides


def describe_head(training: TrainingSpec) -> dict[str, Any]:
    """The settings of the embedding head that are not defaults, as `dml.models.build` takes them."""
    changed = {} if training.head == TrainingSpec.head else {"head": training.head}
    normalizes = {training.head_start, training.head_refit} & {*NORMALIZED, free.KIND} and not training.layers
    return {**changed, **({"head_normalize": True} if normalizes else {})}


def describe_model(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What rebuilds the network and its preprocessing; `augment` is None for vectors, which need none."""
    network = {"embedding_size": training.embedding_size, **describe_backbone(training, manifest)}
    network |= describe_head(training)
    vectors = of_vectors(manifest)
    shape = [manifest["channels"]] if vectors else [manifest[side] for side in ("height", "width", "channels")]
    return {
        "network": network,
        "augment": None if vectors else describe_augment(training, manifest),
        "normalize": training.normalize,
        "image_shape": shape,
        **({"resize": dict(resize)} if isinstance(resize := manifest.get("resize"), Mapping) else {}),
    }
