"""Label noise: clean training labels in, observed labels out. A noise model is one file here.

`build("uniform", rate=0.3).corrupt(labels, seed=0)` gives `NoisyLabels(observed, flipped)`. A model that needs to know
more than labels names it in its class attribute `context` and takes it as keywords of `corrupt`:

- `features` float (n, d): one row a label, any description of the image, such as an embedding; `table` makes them of
  the pixels where it is given `images` and no features;
- `similarity` float (K, K): row and column by label value, larger is more alike;
- `index` int64 (n,): the rows of the packed data that the labels belong to;
- `phase`: `"tune"` or `"confirm"`.

Only training labels come in here; test labels are never touched, since they are never given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dml import discovery
from dml.noise._features import pixels

COLUMNS = ("noise", "rate", "seed", "phase", "index", "observed", "flipped")


def build(name: str, **settings: Any) -> Any:
    """A noise model by its name, with its `rate` (0 <= rate < 1) and its own settings.

    Raises
    ------
    ValueError : an unknown name or setting, or a value out of range.
    """
    return discovery.build("dml.noise", name, **settings)


def table(
    index: np.ndarray,
    labels: np.ndarray,
    models: Iterable[tuple[str, float, Mapping[str, Any]]],
    seeds: Iterable[int],
    phase: str,
    **context: Any,
) -> pd.DataFrame:
    """Every noise model and rate with every seed, on the training images of one phase.

    Parameters
    ----------
    index : int64 (n,), the rows of the packed data.
    labels : int64 (n,), their clean labels.
    models : (name, rate, settings) each; no two with the same name and rate.
    seeds : of the trials.
    phase : `"tune"` or `"confirm"`.
    context : `features`, `similarity` (see the package), and `images`, uint8 (N, H, W, C) such that `images[index]` are
        the images; they are read only if a model needs features and none are given.

    Returns
    -------
    Columns noise, rate, seed, phase, index, observed (-1: left out), flipped; n rows for each model, rate and seed, in
    the order of `index`.
    """
    models, seeds = list(models), list(seeds)
    keys = [(name, float(rate)) for name, rate, _ in models]
    if len(set(keys)) < len(keys):
        raise ValueError(f"noise: a model stands twice with the same rate: {keys}")
    if phase not in ("tune", "confirm"):
        raise ValueError(f"noise: unknown phase {phase!r}. Choices: tune, confirm")
    index, labels = np.asarray(index, dtype=np.int64), np.asarray(labels)
    if index.shape != labels.shape:
        raise ValueError(f"noise: {index.shape} index values for {labels.shape} labels")
    unknown = set(context) - {"features", "similarity", "images"}
    if unknown:
        raise ValueError(f"noise: unknown context {sorted(unknown)}. Choices: features, images, similarity")
    known = {**context, "index": index, "phase": phase}
    blocks = []
    for name, rate, settings in models:
        model = build(name, rate=rate, **settings)
        if "features" in getattr(model, "context", ()) and "features" not in known and "images" in known:
            known["features"] = pixels(known["images"], index)
        wanted = {key: known[key] for key in getattr(model, "context", ()) if key in known}
        for seed in seeds:
            noisy = model.corrupt(labels, seed, **wanted)
            block = {"noise": name, "rate": float(rate), "seed": int(seed), "phase": phase, "index": index}
            blocks.append(pd.DataFrame({**block, "observed": noisy.observed, "flipped": noisy.flipped}))
    if not blocks:
        raise ValueError("noise: no model or no seed is given")
    return pd.concat(blocks, ignore_index=True)
