"""The losses of Levi et al. on clean labels, and the embeddings that have no loss (section 4.1).

    contrastive   [y_i = y_j] D_ij + [y_i != y_j] [alpha - D_ij]_+
    triplet       [D_ij - D_ik + alpha]_+                             for y_i = y_j != y_k
    margin        [y_i = y_j] [D_ij - beta + alpha]_+ + [y_i != y_j] [beta - D_ij + alpha]_+

Risks are means over distinct indices. D is any distance; in the paper it is the squared one. The paper states that
diam(f(A)) < 2 alpha + dist(f(A), f(B)) is enough for a risk of 0, with beta = alpha in the margin loss. The constant
map fulfils this, and has loss. What is enough, with the diameter of the wider class in D:

    triplet   diam + alpha <= dist
    margin    diam + 2 alpha <= dist, with beta = diam + alpha
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """Diameter and gap of a labelled embedding, in D."""

    first: float  # the diameter of the class of the first sample
    widest: float  # the largest diameter of a class
    gap: float  # the smallest distance between two classes


def contrastive(distances: np.ndarray, labels: np.ndarray, alpha: float) -> float:
    """The mean over pairs i != j; `distances` (n, n), `labels` (n,)."""
    same, other = _pairs(labels)
    return float((distances[same].sum() + np.maximum(alpha - distances[other], 0).sum()) / (same.sum() + other.sum()))


def triplet(distances: np.ndarray, labels: np.ndarray, alpha: float) -> float:
    """The mean over triples of distinct samples with y_i = y_j != y_k."""
    same, other = _pairs(labels)
    valid = same[:, :, None] & other[:, None, :]
    hinge = np.maximum(distances[:, :, None] - distances[:, None, :] + alpha, 0)
    return float(hinge[valid].mean())


def margin(distances: np.ndarray, labels: np.ndarray, alpha: float, beta: float) -> float:
    """The mean over pairs i != j, with one beta for all."""
    same, other = _pairs(labels)
    pulled, pushed = np.maximum(distances[same] - beta + alpha, 0), np.maximum(beta - distances[other] + alpha, 0)
    return float((pulled.sum() + pushed.sum()) / (same.sum() + other.sum()))


def shape(distances: np.ndarray, labels: np.ndarray) -> Shape:
    """What the conditions compare."""
    same, other = _pairs(labels)
    first = same & (labels == labels[0])[:, None]
    return Shape(float(distances[first].max()), float(distances[same].max()), float(distances[other].min()))


def printed(sizes: Shape, alpha: float) -> bool:
    """The paper's condition for a triplet risk of 0, and a margin risk of 0 with beta = alpha."""
    return sizes.first < 2 * alpha + sizes.gap


def corrected(sizes: Shape, alpha: float, gaps: int = 1) -> bool:
    """The condition that is enough: `gaps` is 1 for the triplet loss, 2 for the margin loss."""
    return sizes.widest + gaps * alpha <= sizes.gap


def line(diameter: float, gap: float, samples: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of evenly spaced points on a line: squared distances (2 s, 2 s) and labels (2 s,).

    Parameters
    ----------
    diameter : of each class, in squared distance.
    gap : between the classes, in squared distance.
    samples : s, points in a class, at least 2.
    """
    steps = np.linspace(0, np.sqrt(diameter), samples)
    points = np.concatenate([-steps, np.sqrt(gap) + steps])
    return np.subtract.outer(points, points) ** 2, np.repeat([0, 1], samples)


def _pairs(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """bool (n, n) both: pairs i != j of one class, and of two classes."""
    same = np.equal.outer(labels, labels)
    off: np.ndarray = ~np.eye(len(labels), dtype=bool)
    return same & off, ~same
