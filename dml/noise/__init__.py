"""Label noise: clean training labels in, observed labels out. Each noise model is one file.

    noisy = dml.noise.Uniform(rate=0.3).corrupt(labels, seed=0)              # NoisyLabels(observed, flipped)
    noisy = dml.noise.build("uniform", rate=0.3).corrupt(labels, seed=0)     # the same by name

Only training labels are passed in. `table` applies several models, rates and seeds to the labels of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dml import discovery
from dml.noise._labels import pixels
from dml.protocols import NoiseModel
from dml.tables import host_array
from dml.types import VALIDATION, noise_model


def build(name: str, **settings: Any) -> NoiseModel:
    """A noise model from its name, its `rate` (0 <= rate < 1) and its own settings.

    Raises ValueError: an unknown name or setting, or a value out of range.
    """
    return discovery.build("dml.noise", name, **settings)


HALVES = ("tune", VALIDATION)


def table(
    index: np.ndarray,
    labels: np.ndarray,
    models: Iterable[tuple[str, float, Mapping[str, Any]]],
    seeds: Iterable[int],
    phase: str,
    **context: Any,
) -> pd.DataFrame:
    """Every noise model and rate with every seed, on the training images of one phase, `"tune"` or `"confirm"`.

    Parameters
    ----------
    index, labels : int64 (n,), the rows of the packed data, and their clean labels.
    models : (name, rate, settings) each, no two with the same name and rate. `subset:mine` is `subset`.
    context : `features`, `given`, `paths` (see `dml.protocols.NOISE_CONTEXT`); `images`, uint8 (N, H, W, C) with the
        training images at `images[index]`, from which features are computed if a model needs some and none are given.

    The columns are noise, rate, seed, phase, index, observed (-1: left out), flipped, in the order of `index`.
    """
    seeds = list(seeds)
    index, labels = host_array(index, "noise: index"), host_array(labels, "noise: labels")
    if index.shape != labels.shape or index.dtype.kind not in "iu":
        raise ValueError(
            f"noise: expected one index for each label, got {index.dtype} {index.shape} and {labels.shape}"
        )
    index = index.astype(np.int64)
    context |= {"index": index, "phase": phase}
    blocks = []
    for name, rate, settings in models:
        model = build(noise_model(name), rate=rate, **settings)
        if "features" in model.context and "features" not in context and "images" in context:
            context["features"] = pixels(context["images"], index)
        for seed in seeds:
            noisy = model.corrupt(labels, seed, **{key: context[key] for key in model.context if key in context})
            block = {"noise": name, "rate": float(rate), "seed": int(seed), "phase": phase, "index": index}
            blocks.append(pd.DataFrame({**block, "observed": noisy.observed, "flipped": noisy.flipped}))
    return pd.concat(blocks, ignore_index=True)


def halves(labels: pd.DataFrame, tune: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
    """The labels of both halves of the training classes, phases `"tune"` and `"validation"`, of those of all.

    Whoever has wrong labels divides classes by them, so an image is in the half of its observed class. Where the halves
    share classes (groups train, kinds are divided), it is in its own half. Images that are left out are in neither.
    `tune` is the half of each row of the packed data, `classes` int64 (N,) its true class, of the level that trains.
    """
    index, observed = labels["index"].to_numpy(), labels["observed"].to_numpy()
    fitting, validating = (np.unique(classes[tune == role]) for role in ("train", VALIDATION))
    if len(np.intersect1d(fitting, validating)):
        fits, validates = (tune[index] == role for role in ("train", VALIDATION))
    else:
        fits, validates = np.isin(observed, fitting), np.isin(observed, validating)
    kept = (fits | validates) & (observed >= 0)
    return labels.assign(phase=np.where(fits, *HALVES))[kept].reset_index(drop=True)


__all__ = ["build", "halves", "table"]

__getattr__, __dir__ = discovery.lazy(__name__)
