"""From a trial's specification to its parts: network, loss, miner, augmentation, optimiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from dml import discovery, losses, miners, models
from dml.data import augment as augmentations
from dml.training.data import TrialData
from dml.types import TrialSpec

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": lambda groups, **settings: torch.optim.SGD(groups, momentum=0.9, **settings),
    "rmsprop": torch.optim.RMSprop,
}
LOSS_RATE = 10  # proxies and beta learn this much faster than the network, unless the study says otherwise
BOUNDED = ("balanced", "hierarchical")  # samplers of which no batch holds more than `per_class` of a class


def build_augment(spec: TrialSpec, data: TrialData) -> Any:
    """The trial's augmentation: uint8 batches in, what the backbone takes out."""
    return augmentations.build(**describe_augment(spec.training, data.packed.manifest))


def describe_augment(training: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Name and settings of the augmentation; it normalises as a pretrained backbone's weights expect, or as is said."""
    part = discovery.find("dml.data.augment", training["augment"])
    backbone = discovery.find("dml.models", training["backbone"])
    statistics = getattr(backbone, "statistics", lambda **settings: None)(**training["backbone_settings"])
    own = {"normalization": statistics} if statistics and "normalization" in discovery.settings_of(part) else {}
    channels = model_channels(training, manifest)
    return {"name": training["augment"], "channels": channels, **own, **training["augment_settings"]}


def model_channels(training: Mapping[str, Any], manifest: Mapping[str, Any]) -> int:
    """Channels that the backbone sees: the packed images' own, or 3 for torchvision's backbones."""
    return 3 if training["backbone"] == "torchvision" else int(manifest["channels"])


def build_model(spec: TrialSpec, data: TrialData) -> models.Embedder:
    """The trial's network."""
    return models.build(**describe_model(spec, data)["network"])


def describe_model(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """What rebuilds the trial's network and its preprocessing, as JSON."""
    training, manifest = spec.training, data.packed.manifest
    channels = model_channels(training, manifest)
    image_size = build_augment(spec, data).image_size or manifest["height"]
    return {
        "network": {
            "backbone": training["backbone"],
            "embedding_size": training["embedding_size"],
            "channels": channels,
            "image_size": image_size,
            **training["backbone_settings"],
        },
        "augment": describe_augment(training, manifest),
        "normalize": training["normalize"],
        "image_shape": [manifest["height"], manifest["width"], manifest["channels"]],
    }


def build_loss(spec: TrialSpec, classes: int) -> nn.Module:
    """The trial's loss. What the data and the network decide is filled in where the loss asks for it."""
    name, settings = spec.loss["name"], dict(spec.loss["settings"])
    known = discovery.settings_of(discovery.find("dml.losses", name))
    fill = {
        "num_classes": classes,
        "embedding_size": spec.training["embedding_size"],
        "normalize": spec.training["normalize"],
    }
    return losses.build(name, **{key: value for key, value in fill.items() if key in known}, **settings)


def build_miner(spec: TrialSpec, loss: nn.Module) -> Any:
    """The trial's miner, or None. It shares the loss's margin and distance where the study does not set them."""
    if spec.miner is None:
        return None
    settings = dict(spec.miner.get("settings", {}))
    if "name" in spec.miner:
        return miners.build(spec.miner["name"], **settings)
    own, batch = "." not in spec.loss["name"], spec.training["batch"]
    shared = {
        "normalize": spec.training["normalize"],
        "padded": own,
        "max_per_class": batch["per_class"] if batch["sampler"] in BOUNDED else None,
        **getattr(loss, "mining", {}),
    }
    policies = {"positives": spec.miner["positives"], "negatives": spec.miner["negatives"]}
    return miners.build(**policies, **{**shared, **settings})


def build_optimizer(
    training: Mapping[str, Any], model: nn.Module, loss: nn.Module
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """The optimiser, with the loss's own parameters in a group of their own, and its schedule."""
    rate = training["learning_rate"]
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "weight_decay": training["weight_decay"]}]
    learned = [p for p in loss.parameters() if p.requires_grad]
    if learned:
        loss_rate = training["loss_learning_rate"] or LOSS_RATE * rate
        groups.append({"params": learned, "lr": loss_rate, "weight_decay": 0.0})
    optimizer = OPTIMIZERS[training["optimizer"]](groups, lr=rate)
    if training["schedule"] == "cosine":
        return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, training["steps"])
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
