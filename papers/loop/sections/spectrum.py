"""Whether classes have covariances with equal eigenvalues (section 2 of the supplement of Vasudeva et al. 2021).

PCA of each class by itself, so the eigenvalues are the largest ones of the class's covariance. The paper calls their
spread over classes small without saying how large it is if all classes have the same distribution. The null here: each
class is a sample, of its own size, of one Gaussian.

Only eigenvalues are compared, so classes may be turned against each other. The pooled covariance of turned classes is
rounder than that of each, so the Gaussian's eigenvalues are found by simulation instead: they are rescaled until its
samples have the same mean eigenvalues as the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dml.report.labels import SETS
from dml.report.page.blocks import Block, Column, Paragraph, Table
from dml.report.results import Arrays, Results
from dml.report.sections._rows import identity, identity_columns
from dml.types import ScoreKey

DIMENSIONS = 3
ROUNDS = 25  # of rescaling
STEP, DAMPING = 8.0, 0.7  # largest factor of a round, and the power of it that is taken
REPEATS = 20  # data sets drawn from the Gaussian
LEAST = 4  # images of a class; fewer span less than three dimensions
CLASSES = 100  # at most


@dataclass(frozen=True)
class Eigenvalues:
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


def spectrum(points: np.ndarray, labels: np.ndarray) -> Eigenvalues | None:
    """Compare the classes of points (n, D) with samples of one Gaussian; None with fewer than two classes.

    Of more than `CLASSES` classes of at least `LEAST` points, random ones are taken.
    """
    draw = np.random.default_rng(0)
    classes, sizes = np.unique(labels, return_counts=True)
    chosen = np.sort(draw.permutation(classes[sizes >= LEAST])[:CLASSES])
    if len(chosen) < 2:
        return None
    members = [points[labels == label].astype(np.float64) for label in chosen]
    values = [eigenvalues(points_of_class[None])[0] for points_of_class in members]
    counts = np.array([len(points_of_class) for points_of_class in members])
    width = min(DIMENSIONS, points.shape[1])

    scales = _fitted(_pooled(members), values, counts, draw)
    null = np.stack([_padded(_drawn(scales, counts, draw), width) for _ in range(REPEATS)])
    return Eigenvalues(_padded(values, width), counts, null)


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


def _fitted(scales: np.ndarray, values: list[np.ndarray], counts: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Eigenvalues (D,) of a Gaussian whose samples have the mean eigenvalues of the classes."""
    width = len(scales)
    wanted = _padded(values, width).mean(axis=0)
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
    centred = np.concatenate([points - points.mean(axis=0) for points in members])
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1] / max(1, len(centred) - len(members))
    return np.maximum(values, 1e-6 * max(float(values[0]), 1e-30))


def _drawn(scales: np.ndarray, counts: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
    """The eigenvalues of one sample for each class, in the order of the classes."""
    by_class: list[np.ndarray] = [np.empty(0)] * len(counts)
    for size in np.unique(counts):
        places = np.flatnonzero(counts == size)
        for part in np.array_split(places, -(-len(places) * int(size) * len(scales) // 5_000_000)):
            samples = draw.standard_normal((len(part), size, len(scales))) * np.sqrt(scales)
            for place, values in zip(part, eigenvalues(samples), strict=True):
                by_class[place] = values
    return by_class


def _padded(values: list[np.ndarray], width: int) -> np.ndarray:
    """(K, width), with zeros for the eigenvalues that a small class does not have."""
    padded = np.zeros((len(values), width))
    for row, numbers in zip(padded, values, strict=True):
        row[: min(width, len(numbers))] = numbers[:width]
    return padded


SCALE = 100  # eigenvalues are shown times 100, as in the paper
RANGE = (2.5, 97.5)  # percentiles of the null


class Spectrum:
    """Eigenvalues of class covariances of the first seed, beside those that chance gives."""

    anchor, title = "spectrum", "Shapes of classes"

    def applies(self, results: Results) -> bool:
        """At least one trial kept its embeddings, or a publication their eigenvalues."""
        return any(results.embedded(name, "spectrum") for name in results.cells)

    def content(self, results: Results) -> Iterator[Block | None]:
        """What is compared, and a table."""
        yield Paragraph(
            "Are classes spherical-homoscedastic, that is, do their covariances have equal eigenvalues? Each class is "
            "projected to three dimensions by its own PCA, as in the supplement of LoOp. Samples differ by chance even "
            "if classes do not, so each class has a counterpart: a sample of as many points of one Gaussian, whose "
            "eigenvalues are fitted to the mean eigenvalues of all classes. Only a coefficient of variation above that "
            "of the counterparts says that classes differ; classes that are not Gaussian can have such a one too."
        )
        rows = [row for name in results.cells for row in _rows(results, name)]
        yield _table(results, pd.DataFrame(rows)) if rows else None


def _rows(results: Results, name: str) -> Iterator[dict[str, Any]]:
    """One row for each eigenvalue of each set of a cell's first trial with embeddings."""
    key = results.embedded(name, "spectrum")
    for part in results.study.evaluation.sets if key else ():
        made = _spectrum(results, name, str(key), part)
        if made is None:
            continue
        for i in range(made.classes.shape[1]):
            classes, null = made.classes[:, i], made.null_variation[:, i]
            low, high = np.percentile(null, RANGE)
            yield identity(results, name) | {
                "set": SETS.get(part, part),
                "eigenvalue": i + 1,
                "mean": float(classes.mean()),
                "std": float(classes.std(ddof=1)),
                "variation": float(made.variation[i]),
                "null": float(null.mean()),
                "null low": float(low),
                "null high": float(high),
                "says": "more than chance" if made.variation[i] > high else "no more than chance",
                "images": float(np.median(made.sizes)),
            }


def _spectrum(results: Results, name: str, key: str, part: str) -> Eigenvalues | None:
    def compute() -> Arrays:
        content = results.embeddings(key)
        rows = content["set"] == part
        points = np.asarray(content["embeddings"], dtype=np.float32)[rows]
        if results.study.training_of(results.cells[name]).normalize:
            points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
        level = ScoreKey.parse(results.objective(results.cells[name].dataset)).level
        made = spectrum(points * np.sqrt(SCALE), content[f"labels_{level}"][rows])
        if made is None:
            return {}
        classes, null = made.classes.astype(np.float32), made.null.astype(np.float16)
        return {"classes": classes, "sizes": made.sizes.astype(np.int32), "null": null}

    arrays = results.figures.of("spectrum", key, part, compute)
    return Eigenvalues(arrays["classes"], arrays["sizes"], arrays["null"].astype(np.float32)) if arrays else None


def _table(results: Results, frame: pd.DataFrame) -> Table:
    columns = (
        *identity_columns(results),
        Column("set", "Images"),
        Column("eigenvalue", "Eigenvalue", "count"),
        Column("mean", f"Mean x {SCALE}", "number"),
        Column("std", "Std", "number", "over classes"),
        Column("variation", "Variation", "rate", "standard deviation over mean"),
        Column("null", "Of one Gaussian", "rate_interval", "the same of samples of one Gaussian, with its 95% range"),
        Column("says", "Classes differ"),
    )
    caption = (
        "Variation: the coefficient of variation over classes, beside that of samples of one Gaussian of the same "
        f"sizes with its 95% range in {REPEATS} repetitions. With fewer than about ten images a class, the range of "
        f"the third eigenvalue is too low; here it is {int(frame['images'].min())} or more."
    )
    return Table("spectrum", "Variation of the eigenvalues over classes", caption, columns, frame)
