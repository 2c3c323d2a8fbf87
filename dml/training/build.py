"""Builds a trial's parts from its spec: network, augmentation, loss, miner and sampler."""

from __future__ import annotations

from typing import Any

from dml import discovery, filters, losses, miners, models
from dml.data import augment as augmentations
from dml.data import batches
from dml.models import EmbeddingNetwork
from dml.protocols import Augmentation, Filter, Loss, Miner, Sampler
from dml.seeding import derive
from dml.training.data import TrialData
from dml.training.start import load_start
from dml.types import TrialSpec


def build_augment(spec: TrialSpec, data: TrialData) -> Augmentation:
    """The augmentation: packed uint8 batches -> the backbone's input."""
    return augmentations.build(**_describe_augment(spec, data))


def _describe_augment(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """The augmentation's name and settings.

    It uses the statistics of the backbone's pretrained weights, unless the study sets `normalization`.
    """
    training = spec.training
    backbone = models.find(training.backbone)
    settings: dict[str, Any] = {"channels": backbone.channels_for(data.packed.manifest["channels"])}
    statistics = backbone.statistics(**training.backbone_settings)
    if statistics is not None:
        settings["normalization"] = statistics
    return {"name": training.augment, **settings, **training.augment_settings}


def build_model(spec: TrialSpec, data: TrialData) -> EmbeddingNetwork:
    """The network, with the weights that it starts from."""
    network = describe_model(spec, data)["network"]
    if spec.training.start is None:
        return models.build(**network)
    offline = models.find(spec.training.backbone).without_weights(network)
    model = models.build(**{**network, **offline})
    load_start(model, spec.training.start)
    return model


def describe_model(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """What rebuilds the network and its preprocessing, as plain JSON values."""
    training, manifest = spec.training, data.packed.manifest
    return {
        "network": {
            "backbone": training.backbone,
            "embedding_size": training.embedding_size,
            "channels": models.find(training.backbone).channels_for(manifest["channels"]),
            "image_size": build_augment(spec, data).image_size or manifest["height"],
            **training.backbone_settings,
        },
        "augment": _describe_augment(spec, data),
        "normalize": training.normalize,
        "image_shape": [manifest["height"], manifest["width"], manifest["channels"]],
    }


def build_loss(spec: TrialSpec, classes: int) -> Loss:
    """The loss, for `classes` observed classes. Settings of the study have priority over those filled in here."""
    return losses.build_for(
        spec.loss.name,
        spec.loss.settings,
        num_classes=classes,
        embedding_size=spec.training.embedding_size,
        normalize=spec.training.normalize,
    )


def build_filter(spec: TrialSpec, classes: int) -> Filter | None:
    """The filter, for `classes` observed classes, or None without one."""
    if spec.filter is None:
        return None
    size = spec.training.embedding_size
    return filters.build_for(spec.filter.name, spec.filter.settings, num_classes=classes, embedding_size=size)


def build_miner(spec: TrialSpec, loss: Loss) -> Miner | None:
    """The miner, or None without one.

    Unless the study sets them, it takes over the loss's `mining` settings (margin, distance) and normalisation.
    """
    if spec.miner is None:
        return None
    if spec.miner.name:
        return miners.build(spec.miner.name, **spec.miner.settings)
    batch = spec.training.batch
    sampler: type[Sampler] = discovery.find("dml.data.batches", batch.sampler)
    return miners.build(
        positives=spec.miner.positives,
        negatives=spec.miner.negatives,
        **{
            "normalize": loss_normalizes(spec),
            "padded": loss.takes_padding,
            "max_per_class": batch.per_class if sampler.bounded else None,
            **loss.mining,
            **spec.miner.settings,
        },
    )


def loss_normalizes(spec: TrialSpec) -> bool:
    """Whether loss and miner L2-normalise embeddings: as `training.normalize` says, unless the loss's settings do."""
    return spec.loss.settings.get("normalize", spec.training.normalize)


def build_sampler(spec: TrialSpec, data: TrialData) -> Sampler:
    """The sampler: positions (B,) in the training labels."""
    batch = spec.training.batch
    return batches.build(
        batch.sampler,
        labels=data.observed,
        classes=batch.classes,
        per_class=batch.per_class,
        coarse=data.coarse,
        seed=derive(spec.seed, "batches"),
    )
