"""Similarities of positive and negative pairs as they are before and after training, for `reverse_order`."""

from __future__ import annotations

import numpy as np

from papers.histogram.theory.reverse_order import Similarities
from papers.loop.theory.random_arcs import unit


def of_embeddings(x: np.ndarray, labels: np.ndarray) -> Similarities:
    """Unit vectors (n, d) and their labels (n,) -> the similarities of all pairs, each once."""
    first, second = np.triu_indices(len(x), 1)
    s = np.clip((x[first] * x[second]).sum(1), -1, 1)
    same = labels[first] == labels[second]
    return Similarities(s[same], s[~same])


def clustered(spread: float, classes: int = 16, each: int = 8, dimension: int = 16, seed: int = 0) -> Similarities:
    """Classes around random means of the sphere; `spread` is the length of the noise over that of the mean.

    An untrained network: a large spread, so that positive and negative pairs hardly differ. A trained one: below 1.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    means = unit(rng.standard_normal((classes, dimension)))
    noise = rng.standard_normal((len(labels), dimension)) / np.sqrt(dimension)
    return of_embeddings(unit(means[labels] + spread * noise), labels)
