"""How far the similarities of positive and negative pairs overlap (poster of Ustinova & Lempitsky 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dml.report.cache import kept

PAIRS = 100_000  # of each kind, at most
BINS = 100
PER_BIN = 50  # pairs of the rarer kind, below which there are fewer bins for the overlap
CHUNK = 10_000  # pairs whose embeddings are in memory at the same time
VERSION = 1  # raised when the numbers change, so that kept ones are not used


@dataclass(frozen=True)
class Overlap:
    """The similarities of one network on one set, as histograms and two numbers."""

    positive: np.ndarray  # (BINS,): the share of positive pairs in each bin
    negative: np.ndarray  # (BINS,)
    edges: np.ndarray  # (BINS + 1,): of similarities, or of minus the distances
    reverse: float  # the probability of reverse order
    area: float  # the common area


def measured(points: np.ndarray, labels: np.ndarray, cosine: bool, seed: int, folder: Path | None = None) -> Overlap:
    """Measure points (n, D) with labels (n,); the arguments are those of `similarities`.

    Parameters
    ----------
    folder : keeps the result, see `dml.report.cache`.
    """

    def compute() -> np.ndarray:
        positive, negative = similarities(points, labels, cosine, seed)
        edges = bins(cosine, positive, negative)
        numbers = [reverse_order(positive, negative), overlap(positive, negative)]
        return np.concatenate([shares(positive, edges), shares(negative, edges), edges, numbers])

    what = f"similarities {VERSION}, cosine {cosine}, seed {seed}, {PAIRS} pairs, {BINS} bins, {PER_BIN} in each"
    found = kept(folder, compute, what, points, labels)
    return Overlap(found[:BINS], found[BINS : 2 * BINS], found[2 * BINS : -2], float(found[-2]), float(found[-1]))


def similarities(
    points: np.ndarray, labels: np.ndarray, cosine: bool, seed: int, most: int = PAIRS
) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of positive pairs (p,) and of negative pairs (q,), float64: larger is more similar.

    Parameters
    ----------
    points : (n, D) float, of unit length if `cosine`.
    labels : (n,) int.
    cosine : cosine similarities; otherwise minus the Euclidean distance.
    most : of each kind; of more pairs, as many random ones are drawn, with replacement.
    """
    draw = np.random.default_rng(seed)
    values = []
    for first, second in (positive_pairs(labels, most, draw), negative_pairs(labels, most, draw)):
        found = np.empty(len(first))
        for start in range(0, len(first), CHUNK):
            part = slice(start, start + CHUNK)
            a, b = points[first[part]], points[second[part]]
            found[part] = np.einsum("ij,ij->i", a, b) if cosine else -np.linalg.norm(a - b, axis=1)
        values.append(found)
    return values[0], values[1]


def positive_pairs(labels: np.ndarray, most: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two different points of one class, (p,) each; every pair once if there are at most `most`."""
    order = np.argsort(labels, kind="stable")
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    numbers = sizes * (sizes - 1) // 2
    if numbers.sum() <= most:
        inside = [np.triu_indices(size, 1) for size in sizes]
        first, second = (
            np.concatenate([start + pair[i] for start, pair in zip(starts, inside, strict=True)]) for i in (0, 1)
        )
    else:
        chosen = draw.choice(len(sizes), most, p=numbers / numbers.sum())
        first = draw.integers(sizes[chosen])
        second = (first + draw.integers(1, sizes[chosen])) % sizes[chosen]
        first, second = starts[chosen] + first, starts[chosen] + second
    return order[first], order[second]


def negative_pairs(labels: np.ndarray, most: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two points of different classes, (q,) each; every pair once if there are at most `most`."""
    sizes = np.unique(labels, return_counts=True)[1]
    if (len(labels) ** 2 - (sizes**2).sum()) // 2 <= most:
        first, second = np.nonzero(np.triu(labels[:, None] != labels[None, :]))
        return first, second
    found: list[np.ndarray] = []
    while sum(pairs.shape[1] for pairs in found) < most:
        pairs = draw.integers(len(labels), size=(2, most))
        found.append(pairs[:, labels[pairs[0]] != labels[pairs[1]]])
    first, second = np.concatenate(found, axis=1)[:, :most]
    return first, second


def reverse_order(positive: np.ndarray, negative: np.ndarray) -> float:
    """The share of (positive, negative) pairs of pairs in which the negative is more similar; a tie counts half.

    NaN if there is no positive or no negative pair.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    positive = np.sort(positive)
    below, up_to = (np.searchsorted(positive, negative, side) for side in ("left", "right"))
    return float((below + up_to).sum() / (2 * len(positive) * len(negative)))


def shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of the values in each bin, (B,); values beyond the outer edges count in the outer bins."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return counts / max(1, len(values))


def bins(cosine: bool, *values: np.ndarray) -> np.ndarray:
    """Edges (B + 1,) for all values: from -1 to 1 for cosines, else from the smallest value to 0."""
    low = -1.0 if cosine else min((float(found.min()) for found in values if len(found)), default=-1.0)
    return np.linspace(min(low, -1e-12), 1.0 if cosine else 0.0, BINS + 1)


def overlap(positive: np.ndarray, negative: np.ndarray) -> float:
    """The common area of the two densities: 0 if they are apart, 1 if they are equal; NaN without pairs.

    The area does not change if all values are stretched, so it is taken from bins with equally many values of both
    kinds. Bins of equal width would be too wide for an untrained network, whose similarities are all almost 1.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    count = int(np.clip(min(len(positive), len(negative)) // PER_BIN, 2, BINS))
    both = np.concatenate([np.quantile(values, np.linspace(0, 1, 1001)) for values in (positive, negative)])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, count + 1)))
    if len(edges) < 2:
        return 1.0
    return float(np.minimum(shares(positive, edges), shares(negative, edges)).sum())
