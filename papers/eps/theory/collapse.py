"""Class collapse: the expected risk of two embeddings, one point for each class, and two modes for the first class.

Levi et al., "Rethinking preventing class-collapsing in metric learning with margin-based losses", appendix B: there are
t groups of n / t samples. A sample of group k has label k with probability p, and each other label with probability
(1 - p) / (t - 1). `collapsed` is the paper's f1, `two_modes` its f2. In both, samples of the anchor's own group come
first among equal distances (the remark before claim 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from papers.eps.theory import expected_risk


class Scene(NamedTuple):
    """An embedding of grouped samples, described by its distances."""

    distances: np.ndarray  # float (n, n)
    order: np.ndarray  # float (n, n): the order among equal distances


class Curves(NamedTuple):
    """Expected risks against the number of samples."""

    p: np.ndarray  # (P,)
    n: np.ndarray  # (N,)
    collapsed: np.ndarray  # (P, N)
    two_modes: np.ndarray  # (P, N)
    crossing: np.ndarray  # (P,): the interpolated n beyond which two modes always have less risk; nan: none


def groups_of(n: int, groups: int) -> np.ndarray:
    """int64 (n,): the group of each sample, 0 to t - 1. Raises ValueError unless n is a multiple of t >= 2."""
    if groups < 2 or n % groups:
        raise ValueError(f"expected at least 2 groups and a multiple of them in samples, got {groups} and {n}")
    return np.arange(n) // (n // groups)


def label_probabilities(n: int, groups: int, p: float) -> np.ndarray:
    """float (n, t): P(Y_i = r)."""
    if not 0 < p < 1:
        raise ValueError(f"p: expected 0 < p < 1, got {p!r}")
    in_group = groups_of(n, groups)[:, None] == np.arange(groups)
    return np.where(in_group, p, (1 - p) / (groups - 1))


def collapsed(n: int, groups: int, separation: float) -> Scene:
    """Each group is one point, and all points are `separation` apart."""
    group = groups_of(n, groups)
    return _scene(group, group, separation)


def two_modes(n: int, groups: int, separation: float) -> Scene:
    """Like `collapsed`, but the two halves of the first group are `separation` apart. n must be a multiple of 2 t."""
    group = groups_of(n, groups)
    size = n // groups
    if size % 2:
        raise ValueError(f"two modes need an even number of samples in a group, got {size}")
    return _scene(group, np.where(np.arange(n) < size // 2, -1, group), separation)


def _scene(group: np.ndarray, point: np.ndarray, separation: float) -> Scene:
    apart = point[:, None] != point[None, :]
    foreign = group[:, None] != group[None, :]
    return Scene(np.where(apart, separation, 0.0), foreign.astype(float))


def curves(
    p: Sequence[float],
    n: Sequence[int],
    loss: Literal["triplet", "margin"] = "triplet",
    groups: int = 2,
    alpha: float = 0.2,
    easy: bool = True,
) -> Curves:
    """The expected risk of both embeddings, and the number of samples beyond which two modes are better.

    Parameters
    ----------
    p : probabilities of the right label.
    n : numbers of samples, ascending multiples of `2 * groups`.
    loss : the triplet loss for points alpha apart, or the margin loss with beta = alpha for points 2 alpha apart. The
        collapsed embedding is best at these distances without EPS.
    easy : with EPS.

    Raises
    ------
    ValueError : an unknown loss, a probability not between 0 and 1, or numbers of samples that cannot be divided.
    """
    if loss not in ("triplet", "margin"):
        raise ValueError(f"loss: unknown {loss!r}. Choices: triplet, margin")
    risks = np.empty((2, len(p), len(n)))
    for column, count in enumerate(n):
        for which, scene_of in enumerate((collapsed, two_modes)):
            scene = scene_of(count, groups, alpha if loss == "triplet" else 2 * alpha)
            for row, chance in enumerate(p):
                labels = label_probabilities(count, groups, chance)
                if loss == "triplet":
                    risk = expected_risk.triplet(scene.distances, labels, alpha, easy, scene.order)
                else:
                    risk = expected_risk.margin(scene.distances, labels, alpha, alpha, easy, scene.order)
                risks[which, row, column] = risk
    counts = np.asarray(n)
    crossing = np.array([_crossing(counts, two - one) for one, two in zip(*risks, strict=True)])
    return Curves(np.asarray(p, dtype=float), counts, risks[0], risks[1], crossing)


def _crossing(n: np.ndarray, difference: np.ndarray) -> float:
    """The interpolated n beyond which a difference stays below zero; the first n if all are below, nan if none is."""
    above = np.flatnonzero(difference >= 0)
    if not len(above):
        return float(n[0])
    last = int(above[-1])
    if last == len(n) - 1:
        return float("nan")
    share = difference[last] / (difference[last] - difference[last + 1])
    return float(n[last] + share * (n[last + 1] - n[last]))
