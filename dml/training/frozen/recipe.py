"""What decides features or activations, and the name of their folder. Studies with an equal recipe share them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from dml import discovery, models
from dml.data import augment as augmentations
from dml.data.packing import of_vectors
from dml.seeding import derive, generator
from dml.training import free
from dml.training.closed_form import NORMALIZED
from dml.types import TrainingSpec, Views


def describe_augment(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The augmentation's name and settings."""
    backbone = models.find(training.backbone)
    settings: dict[str, Any] = {"channels": backbone.channels_for(manifest["channels"])}
    statistics = backbone.statistics(**training.backbone_settings)
    if statistics is not None:
        settings["normalization"] = statistics
    return {"name": training.augment, **settings, **training.augment_settings}


def describe_backbone(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The backbone's name (`backbone`), the `channels` and `image_size` that it takes, and its own settings."""
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
    normalizes = {training.head_start, training.head_refit} & {*NORMALIZED, free.KIND} and not training.layers
    return {"head_normalize": True} if normalizes else {}


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


version = 1
"""Raised when the same recipe gives other features; trials' keys contain it. A golden test pins the features."""

SEED = 0  # of random views, for all trials
UNTRAINED_SEED = derive(SEED, "frozen backbone")  # of the weights of an untrained backbone
BATCH = 64  # images embedded at once: sums in another batch may differ in their last bits
SHARD = 512  # images; a multiple of BATCH. Activations are larger: one batch is a shard


def recipe(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the features or activations of packed images, as plain JSON values. Raises ValueError."""
    backbone = models.find(training.backbone)
    described = describe_backbone(training, manifest)
    defaults = discovery.defaults_of(backbone)
    settings = models.by_content(training.backbone, training.backbone_settings)
    changed = {key: value for key, value in settings.items() if value != defaults.get(key)}
    divided = {} if training.train_from is None else {"train_from": training.train_from, "views": training.views}
    divided |= {"mirrored": True} if training.mirrored else {}
    packages = {name: discovery.package_version(name) for name in models.packages_of(training.backbone, settings)}
    inside = [name for name, _ in models.components_of(training.backbone, settings)[1:]]
    return {
        "images": manifest["digest"],
        "backbone": training.backbone,
        "settings": changed,
        "channels": described["channels"],
        "image_size": described["image_size"],
        "augment": describe_augment(training, manifest),
        "precision": training.precision,
        "stored": training.frozen_precision,
        "device": training.device,
        **divided,
        **({"layers": True} if training.layers else {}),
        "versions": {
            "features": version,
            "backbone": discovery.version_of("dml.models", training.backbone),
            "augment": discovery.version_of("dml.data.augment", training.augment),
            "torch": torch.__version__.split("+")[0],
            **({"layers": models.Layers.version} if training.layers else {}),
            **packages,
            **{f"models.{name}": discovery.version_of("dml.models", name) for name in inside},
        },
    }


def of_whole_backbone(training: TrainingSpec) -> TrainingSpec:
    """The settings whose features are what a trial on activations starts from; of another trial, its own."""
    if training.train_from is None:
        return replace(training, layers=False)
    return replace(training, train_from=None, views=1, frozen=True, frozen_precision=TrainingSpec.frozen_precision)


def of_each_view(training: TrainingSpec, views: Views) -> list[TrainingSpec]:
    """The settings of what is stored for each of the `evaluation.views`: of images, or also of their mirror images."""
    return [training, *([replace(training, views=1, mirrored=True)] if views == "mirror" else [])]


def view_generator(shard: int, view: int, device: str) -> torch.Generator:
    """The generator of the random augmentation of one view (from 1) of a shard's images."""
    return generator(SEED, f"view/{view}/{shard}", device)


def features_id(made: Mapping[str, Any]) -> str:
    """The name of the folder of a recipe's features: `torchvision-mobilenet_v2-<digest>`; a block comes before that."""
    text = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:12]
    names = [str(made["backbone"]).rsplit(".", 1)[-1], str(made["settings"].get("name", "")), made.get("train_from")]
    return "-".join([*filter(None, names), text]).replace("/", "-")  # `hf-hub:owner/network`


def stored_shape(training: TrainingSpec, manifest: Mapping[str, Any]) -> tuple[int, ...]:
    """What is stored of an image: `(D,)` features, or `(views, C, H, W)` activations. Raises ValueError."""
    offline = models.find(training.backbone).without_weights(describe_backbone(training, manifest))
    shape = _shape(json.dumps(offline, sort_keys=True), training.train_from, image_shape(training, manifest))
    return shape if training.train_from is None else (training.views, *shape)


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
