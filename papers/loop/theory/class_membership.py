"""LoOp's proposition 1: are points between two samples of a class more probable under that class than under the other?

The paper assumes that the covariances of the two classes have equal eigenvalues, concludes that the boundary between
them is a hyperplane, and from it that the way between two samples of a class stays on their side (sections 3.1 and
supplement 3). Three conditions are missing:

- the boundary is linear only if the covariances themselves are equal (on the sphere: if the classes are rotations of
  each other that leave a linear boundary), not only their eigenvalues;
- the two samples must lie on their own side;
- on the sphere the boundary must pass through the centre: a cap larger than a half sphere is not geodesically convex.

A law here is an exponential of a quadratic function, `log p(z) = -z'Az / 2 + b'z + c`: a Gaussian in flat space, or a
Fisher-Bingham law on the unit sphere. If one is a rotation of the other, its normalising constant is the same, so c of
a law on the sphere may be left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.loop.theory.cases import angle
from papers.loop.theory.search import weights


class Law(NamedTuple):
    """log p(z) = -z'Az / 2 + b'z + c."""

    a: np.ndarray  # (d, d), symmetric
    b: np.ndarray  # (d,)
    c: float = 0.0

    def log(self, z: np.ndarray) -> np.ndarray:
        """(..., d) -> (...)."""
        return -0.5 * ((z @ self.a) * z).sum(-1) + z @ self.b + self.c


def gaussian(mean: np.ndarray, covariance: np.ndarray) -> Law:
    """A Gaussian of flat space, up to (2 pi)^(d / 2)."""
    inverse = np.linalg.inv(covariance)
    return Law(inverse, inverse @ mean, float(-0.5 * mean @ inverse @ mean - 0.5 * np.linalg.slogdet(covariance)[1]))


def kent(mean: np.ndarray, long: np.ndarray, concentration: float, ovalness: float) -> Law:
    """A law on the sphere in 3 dimensions with elliptic contours: the long axis is at a right angle to the mean.

    log p(z) = concentration mean.z + ovalness ((long.z)^2 - (across.z)^2), with across = mean x long.
    """
    across = np.cross(mean, long)
    return Law(-2 * ovalness * (np.outer(long, long) - np.outer(across, across)), concentration * mean)


class Counterexample(NamedTuple):
    """Two laws of one shape, and two points whose middle belongs to the other law."""

    first: Law
    second: Law
    start: np.ndarray
    end: np.ndarray
    middle: np.ndarray

    def log_ratios(self) -> tuple[float, float, float]:
        """log p1 - log p2 at the start, the end and the middle; positive: the first law is more probable."""
        points = np.stack([self.start, self.end, self.middle])
        start, end, middle = self.first.log(points) - self.second.log(points)
        return float(start), float(end), float(middle)


def flat_counterexample() -> Counterexample:
    """N((0, 0), diag(9, 1)) and N((0, 2), diag(1, 9)); the segment from (-4, 1.5) to (4, 1.5)."""
    first, second = gaussian(np.zeros(2), np.diag([9.0, 1.0])), gaussian(np.array([0.0, 2.0]), np.diag([1.0, 9.0]))
    start, end = np.array([-4.0, 1.5]), np.array([4.0, 1.5])
    return Counterexample(first, second, start, end, (start + end) / 2)


def sphere_counterexample(tilt: float = 0.5) -> Counterexample:
    """Two laws that are rotations of each other, `tilt` radians apart; the long axis of one points at the other."""
    sin, cos = np.sin(tilt), np.cos(tilt)
    first = kent(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), 12.0, 5.0)
    second = kent(np.array([0.0, sin, cos]), np.array([0.0, cos, -sin]), 12.0, 5.0)
    height = 0.28
    start, end = (np.array([side * 0.75, height, np.sqrt(1 - 0.75**2 - height**2)]) for side in (-1, 1))
    middle = start + end
    return Counterexample(first, second, start, end, middle / np.linalg.norm(middle))


def cap_counterexample() -> Counterexample:
    """Round Gaussians of one covariance whose means have different lengths: the first cap exceeds a half sphere."""
    first, second = (gaussian(np.array(mean), 0.1 * np.eye(3)) for mean in ([0.3, 0.0, 0.0], [-0.8, 0.0, 0.0]))
    start, end = (np.array([-0.2, side * 0.85, np.sqrt(1 - 0.2**2 - 0.85**2)]) for side in (-1, 1))
    middle = start + end
    return Counterexample(first, second, start, end, middle / np.linalg.norm(middle))


def leaves(first: Law, second: Law, start: np.ndarray, end: np.ndarray, sphere: bool, steps: int = 41) -> np.ndarray:
    """Whether the way between points (n, d) passes a place that is more probable under the second law: bool (n,)."""
    out = np.zeros(len(start), dtype=bool)
    full = angle(start, end) if sphere else np.ones(len(start))
    for share in np.linspace(0, 1, steps):
        u1, u2 = weights(share * full, full) if sphere else (np.full(len(start), 1 - share), np.full(len(start), share))
        place = u1[:, None] * start + u2[:, None] * end
        out |= first.log(place) < second.log(place) - 1e-12
    return out
