"""How many bytes of models a study will keep, before it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from dml import models
from dml.config import Study
from dml.sweep.cost.trial_costs import spec_of
from dml.sweep.plan.keys import canonical
from dml.sweep.retention.models import kept_by_best, policy
from dml.training.descriptions import describe_model


@dataclass(frozen=True)
class KeptModels:
    """What `resources.keep_models` means for a study."""

    policy: str  # `best`, `cells` or `all`
    models: int  # that stay when the sweep ends
    bytes_each: int  # of the largest one
    bytes: int  # of all that stay
    peak_bytes: int  # before the others are deleted: one for each cell and seed


def kept_models(study: Study, manifests: Mapping[str, Mapping[str, Any]]) -> KeptModels:
    """Estimate the models that a study will keep. Builds each network without memory for its weights.

    Parameters
    ----------
    manifests : `height`, `width` and `channels` of each dataset's images, as of `dml.sweep.cost.trial_costs.images_of`.

    Raises
    ------
    ValueError : a network cannot be built for these images, or a file of its weights is missing.
    """
    cells, trained = study.cells(), len(study.seeds) * study.splits
    sizes = []
    for cell in cells:
        training = spec_of(study, cell, manifests[cell.dataset]).training
        network = describe_model(training, manifests[cell.dataset])["network"]
        sizes.append(_bytes(canonical(models.find(training.backbone).without_weights(network))))
    each = max(sizes)
    chosen = policy(study, sum(sizes) * study.splits)
    number, total = {
        "best": (best := len(kept_by_best(cells)), best * each),
        "cells": (len(cells) * study.splits, sum(sizes) * study.splits),
        "all": (len(cells) * trained, sum(sizes) * trained),
    }[chosen]
    return KeptModels(chosen, number, each, total, sum(sizes) * trained)


@cache
def _bytes(network: str) -> int:
    """The bytes of a network's weights."""
    with torch.device("meta"):
        model = models.build(**json.loads(network))
    return sum(value.numel() * value.element_size() for value in model.state_dict().values())
