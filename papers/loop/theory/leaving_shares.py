"""How often the way between two samples leaves their class, with and without the conditions of `class_membership`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from papers.loop.theory.class_membership import Law, gaussian, leaves
from papers.loop.theory.random_arcs import unit

Draw = Callable[[np.random.Generator, int], np.ndarray]


class Share(NamedTuple):
    """Over random pairs of laws, and random pairs of samples of the first law of each."""

    space: str  # `flat` or `sphere`
    laws: str  # how the two laws are related
    samples: str  # `own side` or `all`
    conditions: bool  # whether the corrected proposition promises a share of 0
    pairs: int
    leaving: float  # the share of pairs


class Scene(NamedTuple):
    """Two laws, samples of the first (n, d), and what the corrected proposition needs of them."""

    laws: str
    first: Law
    second: Law
    samples: np.ndarray
    linear: bool  # the boundary is a hyperplane, on the sphere through the centre


def shares(dimension: int = 3, scenes: int = 40, samples: int = 100, seed: int = 0) -> list[Share]:
    """Shares for each kind of laws, in flat space and on the sphere."""
    rows = []
    for space, make in (("flat", _flat), ("sphere", _sphere)):
        rng = np.random.default_rng(seed)
        counts: dict[tuple[str, str, bool], list[int]] = {}
        for _ in range(scenes):
            for scene in make(rng, dimension, samples):
                for which in ("own side", "all"):
                    z = scene.samples
                    if which == "own side":
                        z = z[scene.first.log(z) > scene.second.log(z)]
                    start, end = z[: len(z) // 2], z[len(z) // 2 : 2 * (len(z) // 2)]
                    out = leaves(scene.first, scene.second, start, end, space == "sphere")
                    count = counts.setdefault((scene.laws, which, scene.linear and which == "own side"), [0, 0])
                    count[0] += int(out.sum())
                    count[1] += len(out)
        rows += [Share(space, *kind, pairs, out / max(pairs, 1)) for kind, (out, pairs) in counts.items()]
    return rows


def _flat(rng: np.random.Generator, dimension: int, n: int) -> Iterator[Scene]:
    """Gaussians with the eigenvalues 9 to 1, three units apart."""
    values = np.geomspace(9, 1, dimension)
    axes = [_rotation(rng, dimension) for _ in range(2)]
    covariances = [q * values @ q.T for q in axes]
    mean = 3 * unit(rng.standard_normal(dimension))
    first = gaussian(np.zeros(dimension), covariances[0])
    samples = (rng.standard_normal((n, dimension)) * np.sqrt(values)) @ axes[0].T
    yield Scene("equal eigenvalues", first, gaussian(mean, covariances[1]), samples, False)
    yield Scene("equal covariances", first, gaussian(mean, covariances[0]), samples, True)


def _sphere(rng: np.random.Generator, dimension: int, n: int) -> Iterator[Scene]:
    """Laws with the same shape on the sphere: rotated at random; round; and round Gaussians of unequal mean lengths."""
    quadratic = np.diag(np.linspace(-8, 8, dimension - 1))
    frames = [_rotation(rng, dimension) for _ in range(2)]
    laws = [Law(q[:, 1:] @ quadratic @ q[:, 1:].T, 10 * q[:, 0]) for q in frames]
    yield Scene("rotations of one law", laws[0], laws[1], _on_sphere(rng, laws[0], n), False)
    first, second = (Law(np.zeros((dimension, dimension)), 4 * q[:, 0]) for q in frames)
    yield Scene("rotations of one round law", first, second, _on_sphere(rng, first, n), True)
    first, second = (gaussian(r * q[:, 0], 0.25 * np.eye(dimension)) for r, q in zip((0.3, 0.9), frames, strict=True))
    yield Scene("equal covariances, boundary off the centre", first, second, _on_sphere(rng, first, n), False)


def _rotation(rng: np.random.Generator, dimension: int) -> np.ndarray:
    """A random orthogonal matrix (d, d)."""
    return np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]


def _on_sphere(rng: np.random.Generator, law: Law, n: int) -> np.ndarray:
    """Samples (n, d) of a law on the unit sphere: uniform points, drawn again by their weights."""
    points = unit(rng.standard_normal((100 * n, len(law.b))))
    log = law.log(points)
    weight = np.exp(log - log.max())
    return points[rng.choice(len(points), size=n, replace=False, p=weight / weight.sum())]
