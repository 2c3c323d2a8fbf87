"""Methods in closed form beside losses: a trial fits a linear head to features, and trains nothing.

A loss says so by its attribute `closed_form` (`dml.protocols.Loss`). Most settings of the training then have no effect.
"""

from __future__ import annotations

from dataclasses import replace

import dml
from dml.types import TrainingSpec

OF_FEATURES = ("backbone", "backbone_settings", "init_from", "frozen", "frozen_precision")
OF_IMAGES = ("augment", "augment_settings", "precision", "device")
DECIDING = (*OF_FEATURES, *OF_IMAGES, "embedding_size", "normalize")
"""The settings of the training that decide the features, and what is made of them."""

FREE = "free"
"""The method that chooses among layers, too."""

PIXELS = "pixels"
"""The backbone where nothing is pretrained: what a network with random weights computes is no baseline."""


def takes(loss: str, setting: str) -> bool:
    """Whether a dotted setting of the study, such as `training.steps`, has an effect on a method."""
    room, _, rest = setting.partition(".")
    return dml.losses.closed_form_of(loss) is None or (room == "training" and rest.partition(".")[0] in DECIDING)


def training_of(loss: str, training: TrainingSpec, images: bool) -> TrainingSpec:
    """The training of a trial with a loss: as given, or for a method in closed form only its head's start.

    Parameters
    ----------
    images : whether the data are images, not vectors.
    """
    kind = dml.losses.closed_form_of(loss)
    if kind is None:
        return training
    kept = {name: getattr(training, name) for name in DECIDING}
    init_from = None if training.init_from is None else replace(training.init_from, head="new")
    if training.train_from is not None:  # such trials start from the features of the whole backbone
        kept |= {"frozen": True, "frozen_precision": TrainingSpec.frozen_precision}
    found = TrainingSpec(**{**kept, "init_from": init_from, "batch": training.batch, "steps": 0, "head_start": kind})
    pretrained = dml.models.find(training.backbone).statistics(**training.backbone_settings) is not None
    if images and not (pretrained or found.frozen or init_from):
        return replace(found, backbone=PIXELS, backbone_settings={})
    return replace(found, layers=kind == FREE and images and init_from is None)
