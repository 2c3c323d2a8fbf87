"""Batches: which positions of the training labels make up each batch. A sampler is one file here.

A sampler is an endless iterator of int64 (B,) positions, B = classes x per_class. A batch is a pure function of the
observed labels, the settings, the seed and the batch's number, which is the sampler's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import discovery
from dml.discovery import check_class
from dml.protocols import Sampler

PACKAGE = "dml.data.batches"


def build(
    name: str,
    *,
    labels: np.ndarray,
    classes: int,
    per_class: int,
    seed: int = 0,
    coarse: np.ndarray | None = None,
    **settings: Any,
) -> Sampler:
    """A sampler by its file name here, or a dotted path, with its own `settings`.

    `labels`: int64 (n,), as observed; -1 marks samples that are left out. `classes`, `per_class`: classes per batch (P)
    and samples per class (M). `coarse`: int64 (n,), passed on only if the sampler needs coarse labels. Raises
    ValueError: an unknown name or setting, or labels that do not allow such batches.
    """
    part = find(name)
    if coarse is not None and part.needs_coarse:
        settings["coarse"] = coarse
    return discovery.build(PACKAGE, name, labels=labels, classes=classes, per_class=per_class, seed=seed, **settings)


def find(name: str) -> type[Sampler]:
    """The class of a sampler by its name or dotted path. Raises ValueError: an unknown name, or missing members."""
    sampler = discovery.find(PACKAGE, name)
    check_class(sampler, Sampler, f"sampler {name!r}")
    return sampler


__all__ = ["build", "find"]

__getattr__, __dir__ = discovery.lazy(__name__)
