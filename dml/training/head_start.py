"""A linear head in closed form, from the features of the training images and their observed labels.

As the start of training (`head_start`), and again at each evaluation of the trained backbone (`head_refit`): features
of new classes are better than the head that was trained on them (docs/LOG.md, 2026-11-23).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from dml import evaluation
from dml.models import EmbeddingNetwork, Layers
from dml.protocols import Augmentation
from dml.training import closed_form, free
from dml.training.data import TrialData
from dml.types import TrialSpec

REMEMBERED = 16  # projections, the last ones that heads started from
_started: dict[bytes, _Head] = {}


def with_own_head(model: EmbeddingNetwork) -> EmbeddingNetwork:
    """A network that shares a network's backbone, with a copy of its head."""
    found = copy.copy(model)
    found._modules = dict(model._modules)
    found.head = copy.deepcopy(model.head)
    return found


def fit_head(
    model: EmbeddingNetwork,
    kind: str,
    spec: TrialSpec,
    data: TrialData,
    augment: Augmentation,
    device: torch.device,
    start: bool = False,
) -> str:
    """Give a linear head the weights of `dml.training.closed_form`, or `free`, for the present features.

    Returns what `free` chose, by the first metric and one view of each image; "" of another kind.

    Parameters
    ----------
    kind : `training.head_start` or `head_refit`.
    start : before the first step. A worker trains many heads on the same features, and each fit takes longer than the
        steps of a short trial, so those of starts are remembered.

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
    fit = _remembered if start else _fit
    widths = data.layers or getattr(model.backbone, "widths", {Layers.last: features.shape[1]})
    found = fit(kind, features, data.observed[kept], model.embedding_size, dict(widths), spec.evaluation.metrics[0])
    with torch.no_grad():
        linear = model.head[-1] if isinstance(model.head, nn.Sequential) else model.head  # dropout before it
        linear.weight.copy_(found.weight)  # type: ignore[operator,union-attr]
        linear.bias.copy_(found.bias)  # type: ignore[operator,union-attr]
    return found.chosen


class _Head(NamedTuple):
    """The weights of a linear head."""

    weight: torch.Tensor
    bias: torch.Tensor
    chosen: str = ""


def _fit(
    kind: str, features: torch.Tensor, labels: np.ndarray, size: int, widths: Mapping[str, int], metric: str
) -> _Head:
    """The head of a kind; `widths`, `metric`: of the layers side by side, and by which `free` chooses."""
    if kind != free.KIND:
        found = closed_form.fit(kind, features, labels, size)
        return _Head(found.weight, found.bias)
    parts = features.cpu().split(list(widths.values()), dim=1)
    best = free.choose(
        {name: part.numpy()[:, None] for name, part in zip(widths, parts, strict=True)}, labels, metric, size
    )
    return _Head(*best.head(widths, size), str(best.chosen))


def _remembered(
    kind: str, features: torch.Tensor, labels: np.ndarray, size: int, widths: Mapping[str, int], metric: str
) -> _Head:
    """`_fit`, computed once for the same arguments."""
    of_free = (widths, metric) if kind == free.KIND else ()
    said = repr((kind, size, *of_free, features.device, tuple(features.shape), features.dtype, labels.dtype))
    key = hashlib.blake2b(said.encode())
    for values in (features.cpu().numpy(), labels):
        key.update(np.ascontiguousarray(values).data)
    found = _started.pop(key.digest(), None)
    if found is None:
        found = _fit(kind, features, labels, size, widths, metric)
        found = found._replace(weight=found.weight.cpu(), bias=found.bias.cpu())
    _started[key.digest()] = found  # the newest is the last
    if len(_started) > REMEMBERED:
        del _started[next(iter(_started))]
    return found
