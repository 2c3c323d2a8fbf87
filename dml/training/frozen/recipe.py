"""What decides features or activations, and the name of their folder.

They depend on the packed images, the backbone with its settings and weights, the preprocessing, the arithmetic and
the packages that compute them. An equal recipe gives equal features, so studies share them.
Activations also depend on the block before which they are taken, and on the number of views. Those of mirror images are
apart, so a study that asks for them shares the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from dml import discovery, models
from dml.seeding import derive, generator
from dml.training.descriptions import describe_augment, describe_backbone
from dml.types import TrainingSpec, Views

version = 1
"""Raised when the same recipe gives other features; trials' keys contain it. A golden test pins the features."""

SEED = 0  # of the weights of an untrained backbone, for all trials
BATCH = 64  # images embedded at once: sums in another batch may differ in their last bits
SHARD = 512  # images; a multiple of BATCH. Activations are larger: one batch is a shard


def recipe(training: TrainingSpec, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the features or activations of packed images, as plain JSON values.

    Parameters
    ----------
    training : of a trial on stored features or activations; settings of its head, optimiser and batches are ignored.
    manifest : of the packed images.

    Raises
    ------
    ValueError : the backbone's file of weights is missing.
    """
    backbone = models.find(training.backbone)
    described = describe_backbone(training, manifest)
    defaults = discovery.defaults_of(backbone)
    settings = models.by_content(training.backbone, training.backbone_settings)
    own = {key: value for key, value in settings.items() if value != defaults.get(key)}
    divided = {} if training.train_from is None else {"train_from": training.train_from, "views": training.views}
    divided |= {"mirrored": True} if training.mirrored else {}
    packages = {name: discovery.package_version(name) for name in models.packages_of(training.backbone, settings)}
    inside = [name for name, _ in models.components_of(training.backbone, settings)[1:]]
    return {
        "images": manifest["digest"],
        "backbone": training.backbone,
        "settings": own,
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
    """The settings whose features are what a trial on activations starts from; of another trial, its own.

    They are those of the last layer, also if the trial chooses among several.
    """
    if training.train_from is None:
        return replace(training, layers=False)
    return replace(training, train_from=None, views=1, frozen=True, frozen_precision=TrainingSpec.frozen_precision)


def of_each_view(training: TrainingSpec, views: Views) -> list[TrainingSpec]:
    """The settings of what is stored for each of the `evaluation.views`: of images, or also of their mirror images."""
    return [training, *([replace(training, views=1, mirrored=True)] if views == "mirror" else [])]


def shard_size(training: TrainingSpec) -> int:
    """How many images a shard has."""
    return SHARD if training.train_from is None else BATCH


def view_generator(shard: int, view: int, device: str) -> torch.Generator:
    """The generator of the random augmentation of one view (from 1) of a shard's images."""
    return generator(SEED, f"view/{view}/{shard}", device)


def derive_seed() -> int:
    """The seed of the weights of an untrained backbone."""
    return derive(SEED, "frozen backbone")


def features_id(made: Mapping[str, Any]) -> str:
    """The name of the folder of a recipe's features: `torchvision-mobilenet_v2-<digest>`; a block comes before that."""
    text = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:12]
    names = [str(made["backbone"]).rsplit(".", 1)[-1], str(made["settings"].get("name", "")), made.get("train_from")]
    return "-".join([*filter(None, names), text]).replace("/", "-")  # `hf-hub:owner/network`
