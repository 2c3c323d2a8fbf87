"""The histogram loss as an estimate of the probability of reverse order (Ustinova and Lempitsky 2016, eq. 1 to 5).

    L = sum_r h-_r sum_{q <= r} h+_q,  R nodes on [-1, 1], step D = 2 / (R - 1)
    p = P(s- > s+), for a random negative and a random positive pair

Each similarity is shared linearly between its two neighbouring nodes, so L is the mean over all quadruplets (positive
pair, negative pair) of a kernel: 1 if s- is more than a node above s+, 0 if it is more than a node below, and between
them on average 1/2 above the step function, if the difference s- - s+ has an even density there. So

    L = P(s- > s+ - D / 2) = p + D / 2 * density of (s- - s+) at 0, up to terms of order D^2,

and a wide bin acts as a margin of half its width.

Deviations, as in `dml.losses.Histogram`: equation 3 puts `1 / (D |S|)` before its first sum only; it belongs to both.
Equation 4 is misprinted: `dL/dh-_r = sum_{q <= r} h+_q` and `dL/dh+_r = sum_{q >= r} h-_q`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Similarities(NamedTuple):
    """The similarities of a batch's pairs, in [-1, 1]."""

    positive: np.ndarray  # float64 (P,)
    negative: np.ndarray  # float64 (Q,)


def shares(s: np.ndarray, bins: int) -> np.ndarray:
    """How each similarity (n,) is shared among the nodes: (n, bins), rows sum to 1."""
    place = (np.clip(s, -1, 1) + 1) * (bins - 1) / 2
    below = np.minimum(np.floor(place).astype(np.int64), bins - 2)
    histogram, rows = np.zeros((len(s), bins)), np.arange(len(s))
    histogram[rows, below], histogram[rows, below + 1] = 1 - (place - below), place - below
    return histogram


def histogram(s: np.ndarray, bins: int, printed: bool = False) -> np.ndarray:
    """The estimate h (bins,) of equation 3; `printed`: its factor 1 / (D |S|) before the first sum only."""
    place = (np.clip(s, -1, 1) + 1) * (bins - 1) / 2
    below = np.minimum(np.floor(place).astype(np.int64), bins - 2)
    first, second = np.bincount(below + 1, place - below, bins), np.bincount(below, 1 - (place - below), bins)
    return first / len(s) + second * (2 / (bins - 1) if printed else 1 / len(s))


def loss(s: Similarities, bins: int) -> float:
    """Equation 2."""
    return float(histogram(s.negative, bins) @ histogram(s.positive, bins).cumsum())


def exact(s: Similarities) -> float:
    """The share of all quadruplets whose negative pair is the more similar; ties count half."""
    ordered = np.sort(s.positive)
    below, upto = (np.searchsorted(ordered, s.negative, side) for side in ("left", "right"))
    return float((below + upto).mean() / 2 / len(ordered))


def quadruplet_mean(s: Similarities, bins: int) -> float:
    """The mean of the kernel over every quadruplet, one by one: O(P Q) terms."""
    positive, negative = shares(s.positive, bins).cumsum(axis=1), shares(s.negative, bins)
    return float(np.mean([[float(n @ p) for p in positive] for n in negative]))


def with_margin(s: Similarities, margin: float) -> float:
    """P(s- > s+ - margin)."""
    return exact(Similarities(s.positive - margin, s.negative))


def slopes(s: Similarities, bins: int, printed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(dL/dh+, dL/dh-), (bins,) each; `printed`: equation 4 as the poster prints it."""
    positive, negative = histogram(s.positive, bins), histogram(s.negative, bins)
    if printed:
        return positive.cumsum(), negative[::-1].cumsum()[::-1]
    return negative[::-1].cumsum()[::-1], positive.cumsum()


def gradient(s: Similarities, bins: int, printed: bool = False) -> Similarities:
    """dL/ds of every pair, by equations 4 and 5; at a node, the slope towards the node above."""
    gradients = []
    for values, slope in zip(s, slopes(s, bins, printed), strict=True):
        place = (values + 1) * (bins - 1) / 2
        below = np.minimum(np.floor(place).astype(np.int64), bins - 2)
        gradients.append(np.diff(slope)[below] * (bins - 1) / 2 / len(values))
    return Similarities(*gradients)


def density(s: Similarities, width: float = 0.02) -> float:
    """The density of s- - s+ at 0, by the share of differences within `width` / 2 of it."""
    return (with_margin(s, width / 2) - with_margin(s, -width / 2)) / width


def one_sided(s: Similarities, bins: int, step: float = 1e-6) -> tuple[float, float]:
    """dL/ds of the first positive pair from below and from above, by differences of the loss."""
    values = []
    for shift in (-step, 0.0, step):
        positive = s.positive.copy()
        positive[0] += shift
        values.append(loss(s._replace(positive=positive), bins))
    return (values[1] - values[0]) / step, (values[2] - values[1]) / step


def differences(s: Similarities, bins: int, step: float = 1e-6) -> Similarities:
    """dL/ds of every pair by central differences of the loss."""
    slopes = []
    for which, values in enumerate(s):
        slope = np.empty(len(values))
        for i in range(len(values)):
            pair = []
            for sign in (1, -1):
                moved = values.copy()
                moved[i] += sign * step
                pair.append(loss(s._replace(**{s._fields[which]: moved}), bins))
            slope[i] = (pair[0] - pair[1]) / (2 * step)
        slopes.append(slope)
    return Similarities(*slopes)
