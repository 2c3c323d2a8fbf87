"""Builds a trial's parts from its spec: network, augmentation, loss, miner and sampler."""

from __future__ import annotations

from typing import Any

from safetensors.torch import load_file
from torch import nn

from dml import discovery, filters, losses, miners, models
from dml.data import augment as augmentations
from dml.data import batches
from dml.models import EmbeddingNetwork
from dml.protocols import Augmentation, Filter, Loss, Miner, Sampler
from dml.seeding import derive
from dml.training.data import TrialData
from dml.training.frozen import recipe
from dml.training.frozen.opening import Activations, FeatureRows
from dml.training.model_files import load_init_from
from dml.types import TrialSpec


def build_augment(spec: TrialSpec, data: TrialData) -> Augmentation:
    """The augmentation: packed uint8 batches, or stored features or activations -> the network's input."""
    if spec.training.frozen:
        return FeatureRows()
    if spec.training.train_from is not None:
        return Activations(data.packed.images.one)
    return augmentations.build(**recipe.describe_augment(spec.training, data.packed.manifest))


def build_model(spec: TrialSpec, data: TrialData, resumes: bool = False) -> EmbeddingNetwork:
    """The network, with the weights that it starts from. Of a frozen trial: only the head."""
    training = spec.training
    if training.frozen:
        width, head = data.packed.images.shape[-1], recipe.describe_head(training)
        return models.build_head(width, embedding_size=training.embedding_size, **head)
    network = {**describe_model(spec, data)["network"], "batch_norm": training.batch_norm}
    if training.init_from is None and training.train_from is None and not resumes:
        return models.build(**network)
    model = models.build(**models.find(training.backbone).without_weights(network))
    if training.train_from is not None:
        if data.backbone is not None:
            model.backbone.load_state_dict(load_file(data.backbone))  # type: ignore[attr-defined]
        shape = recipe.image_shape(training, data.packed.manifest)
        model.backbone = models.FromBlock(model.backbone, training.train_from, shape)  # type: ignore[assignment, arg-type]
        return model.train()
    if training.init_from is not None and not resumes:
        load_init_from(model, training.init_from)
    return model


def describe_model(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """What rebuilds the whole network, its preprocessing and how views are joined, as plain JSON values."""
    views = {} if spec.evaluation.views == "one" else {"views": spec.evaluation.views}
    return recipe.describe_model(spec.training, data.packed.manifest) | views


def whole_network(spec: TrialSpec, data: TrialData, model: EmbeddingNetwork) -> nn.Module:
    """What a trial's model file contains: the whole network from images, also of a trial on stored features."""
    if not spec.training.stored:
        return model
    network = describe_model(spec, data)["network"]
    whole = models.build(**models.find(spec.training.backbone).without_weights(network))
    if spec.training.train_from is not None:
        whole.backbone.load_state_dict(model.backbone.backbone.state_dict())  # type: ignore[attr-defined]
    elif data.backbone is not None:
        whole.backbone.load_state_dict(load_file(data.backbone))  # type: ignore[attr-defined]
    whole.head.load_state_dict(model.head.state_dict())
    return whole


def build_loss(spec: TrialSpec, classes: int, size: int) -> Loss:
    """The loss, for `classes` observed classes and embeddings of `size` dimensions."""
    return losses.build_for(
        spec.loss.name, spec.loss.settings, num_classes=classes, embedding_size=size, normalize=spec.training.normalize
    )


def build_filter(spec: TrialSpec, classes: int, size: int, loss: Loss) -> Filter | None:
    """The filter, for `classes` observed classes, embeddings of `size` dimensions and a loss, or None without one."""
    if spec.filter is None:
        return None
    part = filters.build_for(spec.filter.name, spec.filter.settings, num_classes=classes, embedding_size=size)
    if (watch := getattr(part, "watch", None)) is not None:
        watch(loss)
    return part


def build_miner(spec: TrialSpec, loss: Loss) -> Miner | None:
    """The miner, or None without one."""
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
    """Whether loss and miner L2-normalise embeddings: as `training.normalize` says, unless the loss's settings do, or
    those of the loss that it wraps.
    """
    given = {"normalize": spec.training.normalize, **spec.loss.settings}
    return {**given, **losses.innermost(spec.loss.name, given)[1]}["normalize"]


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
