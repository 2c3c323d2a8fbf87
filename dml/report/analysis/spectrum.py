"""The eigenvalues of class covariances after PCA to three dimensions, and what chance alone makes of them.

Vasudeva et al. 2021 (LoOp), section 2 of the supplement: PCA of each class by itself, so the eigenvalues are the
largest ones of the class's covariance. The paper calls their spread over classes small without saying how large it is
if all classes have the same distribution. The null here: each class is a sample, of its own size, of one Gaussian.

Only eigenvalues are compared, so classes may be turned against each other. The pooled covariance of turned classes is
rounder than that of each, so the Gaussian's eigenvalues are found by simulation instead: they are rescaled until its
samples have the same mean eigenvalues as the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dml.report.cache import kept

DIMENSIONS = 3
ROUNDS = 25  # of rescaling
STEP, DAMPING = 8.0, 0.7  # largest factor of a round, and the power of it that is taken
REPEATS = 20  # data sets drawn from the Gaussian
LEAST = 4  # images of a class; fewer span less than three dimensions
CLASSES = 100  # at most
VERSION = 1  # raised when the numbers of the null change, so that kept ones are not used


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of K classes and of their counterparts drawn from one Gaussian; d = 3, or D if that is smaller."""

    classes: np.ndarray  # (K, d), descending
    sizes: np.ndarray  # (K,): images
    null: np.ndarray  # (REPEATS, K, d)

    @property
    def variation(self) -> np.ndarray:
        """The coefficient of variation over classes, (d,)."""
        return variation(self.classes)

    @property
    def null_variation(self) -> np.ndarray:
        """The same of each data set that was drawn, (REPEATS, d)."""
        return variation(self.null)


def spectrum(points: np.ndarray, labels: np.ndarray, seed: int, folder: Path | None = None) -> Spectrum | None:
    """Compare the classes of points (n, D) with samples of one Gaussian; None with fewer than two classes.

    Of more than `CLASSES` classes of at least `LEAST` points, random ones are taken.

    Parameters
    ----------
    folder : keeps the eigenvalues of the drawn samples, see `dml.report.cache`.
    """
    draw = np.random.default_rng(seed)
    known, sizes = np.unique(labels, return_counts=True)
    chosen = np.sort(draw.permutation(known[sizes >= LEAST])[:CLASSES])
    if len(chosen) < 2:
        return None
    members = [points[labels == label].astype(np.float64) for label in chosen]
    found = [eigenvalues(own[None])[0] for own in members]
    counts = np.array([len(own) for own in members])
    width = min(DIMENSIONS, points.shape[1])

    def simulated() -> np.ndarray:
        scales = _fitted(_pooled(members), found, counts, draw)
        return np.stack([_padded(_drawn(scales, counts, draw), width) for _ in range(REPEATS)])

    what = f"spectrum {VERSION}, {ROUNDS} rounds, {REPEATS} repeats, {LEAST} to a class, seed {seed}"
    return Spectrum(_padded(found, width), counts, kept(folder, simulated, what, *members))


def eigenvalues(samples: np.ndarray) -> np.ndarray:
    """Those of the covariance of each sample, descending: (m, n, D) -> (m, min(n, D)). Divides by n - 1."""
    centred = samples - samples.mean(axis=1, keepdims=True)
    wide = samples.shape[1] < samples.shape[2]  # the Gram matrix is smaller, with the same eigenvalues
    across = np.swapaxes(centred, 1, 2)
    products = centred @ across if wide else across @ centred
    return np.maximum(np.linalg.eigvalsh(products)[:, ::-1], 0.0) / (samples.shape[1] - 1)


def variation(values: np.ndarray) -> np.ndarray:
    """Standard deviation over mean, over the classes: (..., K, d) -> (..., d)."""
    mean = values.mean(axis=-2)
    return np.divide(values.std(axis=-2, ddof=1), mean, out=np.full(mean.shape, np.nan), where=mean > 0)


def _fitted(scales: np.ndarray, found: list[np.ndarray], counts: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Eigenvalues (D,) of a Gaussian whose samples have the mean eigenvalues of the classes."""
    width = len(scales)
    wanted = _padded(found, width).mean(axis=0)
    seen = min(width, int(counts.max()) - 1)  # a sample of n points has no more than n - 1
    for _ in range(ROUNDS):
        drawn = _padded(_drawn(scales, counts, draw), width).mean(axis=0)
        ratios = np.ones(width)
        ratios[:seen] = wanted[:seen] / np.maximum(drawn[:seen], 1e-30)
        ratios[seen:] = ratios[seen - 1]
        # Sorted, since a largest scale in another place would be changed by the ratio of a smaller one, and diverge.
        scales = np.sort(scales * np.clip(ratios, 1 / STEP, STEP) ** DAMPING)[::-1]
        scales *= wanted.sum() / max(float(scales.sum()), 1e-30)  # what samples have on average
    return scales


def _pooled(members: list[np.ndarray]) -> np.ndarray:
    """The eigenvalues (D,) of the mean covariance within classes, none of them 0."""
    centred = np.concatenate([own - own.mean(axis=0) for own in members])
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1] / max(1, len(centred) - len(members))
    return np.maximum(values, 1e-6 * max(float(values[0]), 1e-30))


def _drawn(scales: np.ndarray, counts: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
    """The eigenvalues of one sample for each class, in the order of the classes."""
    found: list[np.ndarray] = [np.empty(0)] * len(counts)
    for size in np.unique(counts):
        places = np.flatnonzero(counts == size)
        for part in np.array_split(places, -(-len(places) * int(size) * len(scales) // 5_000_000)):
            samples = draw.standard_normal((len(part), size, len(scales))) * np.sqrt(scales)
            for place, values in zip(part, eigenvalues(samples), strict=True):
                found[place] = values
    return found


def _padded(values: list[np.ndarray], width: int) -> np.ndarray:
    """(K, width), with zeros for the eigenvalues that a small class does not have."""
    padded = np.zeros((len(values), width))
    for row, own in zip(padded, values, strict=True):
        row[: min(width, len(own))] = own[:width]
    return padded
