"""First weights of a linear head, in closed form from the features of the training images and their observed labels."""

from __future__ import annotations

import torch

from dml import evaluation
from dml.models import EmbeddingNetwork
from dml.protocols import Augmentation
from dml.training import closed_form
from dml.training.data import TrialData
from dml.types import TrialSpec


def start_head(
    model: EmbeddingNetwork, spec: TrialSpec, data: TrialData, augment: Augmentation, device: torch.device
) -> None:
    """Give the head the weights that `training.head_start` names (see `dml.training.closed_form`).

    Raises
    ------
    ValueError : the labels or the features do not allow it.
    """
    kept = closed_form.taking_part(data.observed)
    features = evaluation.embed_images(
        model.backbone,  # type: ignore[arg-type]
        data.packed.images,
        data.rows[kept],
        augment=augment,
        device=device,
        precision=spec.training.precision,
    )
    kind, size = spec.training.head_start, model.embedding_size
    found = closed_form.fit(kind, features.cpu().numpy(), data.observed[kept], size)
    with torch.no_grad():
        model.head.weight.copy_(found.weight)  # type: ignore[operator,union-attr]
        model.head.bias.copy_(found.bias)  # type: ignore[operator,union-attr]
