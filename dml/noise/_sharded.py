"""Uniform noise, one shard at a time: the distribution of `uniform` over all labels, which no process holds.

Exactly round(rate n) of n labels flip. How many of each shard do is drawn first: a random choice of n labels falls into
shards by the multivariate hypergeometric distribution. Then each shard chooses its own. The other models need all
labels at once, or the features of all images, so they have no such form.
"""

from __future__ import annotations

import numpy as np

from dml import seeding
from dml.noise._labels import check_labels, check_rate, noisy, others
from dml.types import NoisyLabels


def flips_of_shards(rows: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """The number of labels that flip in each shard, int64 (s,), from the rows of each, int64 (s,)."""
    rows, draw = np.asarray(rows, dtype=np.int64), seeding.numpy_generator(seed, "noise/shards")
    return draw.multivariate_hypergeometric(rows, round(check_rate(rate) * int(rows.sum())), method="marginals")


def corrupt_shard(labels: np.ndarray, classes: np.ndarray, flips: int, seed: int, shard: int) -> NoisyLabels:
    """Flip labels of one shard. The same labels, numbers and seed give the same result, in any process.

    Parameters
    ----------
    labels : int64 (b,), of the shard's rows, from 0.
    classes : int64 (K,), all classes of the data, ascending.
    flips : how many labels flip, as `flips_of_shards` says.
    shard : its number.

    Raises
    ------
    ValueError : labels that are not in `classes`, or fewer than 2 classes.
    """
    labels, classes = check_labels(labels), np.asarray(classes)
    if flips and len(classes) < 2:
        raise ValueError(f"noise: expected at least 2 classes, got {len(classes)}")
    true = np.searchsorted(classes, labels)
    if len(labels) and (true.max() >= len(classes) or (classes[true] != labels).any()):
        raise ValueError(f"noise: shard {shard} has labels that are not in the list of classes")
    draw = seeding.numpy_generator(seeding.derive(seed, f"noise/shard {shard}"), "noise/uniform")
    hit = draw.permutation(len(labels))[:flips]
    observed = labels.copy()
    if flips:
        observed[hit] = classes[others(true[hit], len(classes), draw)]
    return noisy(labels, observed)
