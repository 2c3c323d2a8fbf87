"""Batches: which positions of the training labels make up each batch. A sampler is one file here.

A sampler is an endless iterator of int64 (B,) positions, B = classes x per_class. What a batch holds is a pure
function of the labels, the settings, the seed and the batch's number, so its state is that number: resuming in
mid-epoch is exact and memory does not grow. Labels are the observed (noisy) ones; a position with label -1 is never
drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import discovery


def build(
    name: str,
    *,
    labels: np.ndarray,
    classes: int,
    per_class: int,
    seed: int = 0,
    coarse: np.ndarray | None = None,
    **settings: Any,
) -> Any:
    """A sampler by its name.

    Parameters
    ----------
    name : a sampler's file name here, or a dotted path.
    labels : int64 (n,), as observed; -1: left out.
    classes, per_class : P and M.
    coarse : int64 (n,), the coarse labels, for the samplers that use them.

    Raises
    ------
    ValueError : an unknown name or setting, or labels from which such batches cannot be made.
    """
    part = discovery.find("dml.data.batches", name)
    if coarse is not None and "coarse" in discovery.settings_of(part):
        settings["coarse"] = coarse
    return discovery.build(
        "dml.data.batches", name, labels=labels, classes=classes, per_class=per_class, seed=seed, **settings
    )
