"""Linear projections of features in closed form: no step of training, only moments of the training rows.

`components`: the first d principal components of the rows x. Labels are not used.

`whitening`: by the within-class covariance, then the first d principal components of the whitened rows. With x
L2-normalised, m the mean of all rows, m_y the mean of the class of x, and D features,

    W = mean (x - m_y)(x - m_y)^T,    W_s = W + s tr(W)/D I,    y = U^T W_s^(-1/2) (x - m)

where the columns of U are the principal axes of W_s^(-1/2) (x - m). With T = mean (x - m)(x - m)^T, the rows of the
weight are the generalised eigenvectors T u = mu W_s u with u^T W_s u = 1, which is how they are computed.

At full length axes are not rotated to principal ones, which changes no distance: `components` then only subtract the
mean, and the weight of `whitening` is the inverse Cholesky factor of W_s in place of W_s^(-1/2).

`lda`: linear discriminant analysis. The same with B = T - W, the covariance between classes, in place of T. B has at
most K - 1 directions for K classes; further ones are principal components of the whitened rows without them.

The shrinkage s is 1 unless given. Choosing it on held-out classes costs accuracy where labels are wrong: MAP@R then
chooses the largest (docs/benchmarks/regime.md). Labels are the observed ones throughout.

References
----------
N. Shental, T. Hertz, D. Weinshall, M. Pavel, Adjustment Learning and Relevant Component Analysis, ECCV 2002: whitening
within classes. T. Hastie, R. Tibshirani, J. Friedman, The Elements of Statistical Learning (2009), section 4.3.3: LDA
as principal components of whitened class means. J. H. Friedman, Regularized Discriminant Analysis, JASA 84 (1989):
shrinkage towards a multiple of I.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, linalg
from torch.nn import functional

from dml.discovery import suggestion
from dml.tables import host_array
from dml.tensors import check_dense, directions, from_array, without_autocast
from dml.training.data import sample

version = 3
"""Raised when the same rows give other projections; keys of trials whose head starts from one contain it."""

KINDS = ("components", "whitening", "lda")
NORMALIZED = ("whitening", "lda")  # kinds that take L2-normalised rows
SHRINKAGE = 1.0
FITTED = 10_000  # training rows that take part, at most
THINNED = 20  # rows a class on average; with fewer left, whole classes are left out instead
NONE = 1e-10  # a variance below this share of the mean or largest one is zero


class Projection(NamedTuple):
    """x -> weight @ x + bias, of features as they come or, with `normalize_input`, divided by their length.

    Tensors are on the device of the features that it was fitted to.
    """

    weight: Tensor  # float32 (d, D)
    bias: Tensor  # float32 (d,)
    normalize_input: bool


def fit(
    kind: str,
    features: np.ndarray | Tensor,
    labels: np.ndarray,
    size: int | None = None,
    shrinkage: float | None = None,
) -> Projection:
    """The projection of one kind; features, labels as of `ClosedForm`, the rest as of its `projection`."""
    return ClosedForm(features, labels).projection(kind, size, shrinkage)


@without_autocast
def apply(projection: Projection, features: np.ndarray) -> np.ndarray:
    """Features (..., D) -> float32 (..., d)."""
    weight, bias, normalize_input = projection
    rows = from_array(_features(features).astype(np.float32, copy=False)).to(weight.device)
    rows = directions(rows.reshape(-1, rows.shape[-1])).view(rows.shape) if normalize_input else rows
    return functional.linear(rows, weight, bias).cpu().numpy()


class ClosedForm:
    """All projections of features float (n, D) with observed labels int (n,), in float64; -1 is left out.

    Of more than 10,000 rows some take part (`taking_part`). Raises ValueError for other shapes, a number that is not
    finite, or fewer than two rows.
    """

    def __init__(self, features: np.ndarray | Tensor, labels: np.ndarray):
        rows = _features(features)
        observed = host_array(labels, "closed form: labels")
        if rows.ndim != 2 or observed.shape != rows.shape[:1] or not np.issubdtype(observed.dtype, np.integer):
            raise ValueError(
                "closed form: expected features (n, D) and whole labels (n,), "
                f"got {tuple(rows.shape)} and {observed.dtype} {observed.shape}"
            )
        kept = taking_part(observed)
        if len(kept) < 2:
            raise ValueError(f"closed form: expected at least 2 rows with a label, got {len(kept)} of {len(rows)}")
        if isinstance(rows, Tensor):
            self._rows = rows[torch.from_numpy(kept).to(rows.device)].double()
        else:
            self._rows = torch.from_numpy(np.asarray(rows[kept], dtype=np.float64))
        self._labels = np.unique(observed[kept], return_inverse=True)[1]
        finite = self._rows.isfinite().all(dim=1)
        if not finite.all():
            bad = int((~finite).sum())
            raise ValueError(
                f"closed form: expected finite features, got {bad} of {len(kept)} rows with NaN or infinity"
            )

    def projection(self, kind: str, size: int | None = None, shrinkage: float | None = None) -> Projection:
        """One projection of one of `KINDS` to `size` d dimensions; None: all D, of `lda` its discriminants.

        `shrinkage` s of `whitening` and `lda`, None: 1; `components` have none. Axes without variance are zero rows of
        the weight; each axis has the sign that makes its largest weight positive. Raises ValueError for an unknown
        kind, a size outside of 1 to D, an invalid shrinkage, and for classes that have no two different images, or of
        which there is only one (`lda`).
        """
        self._check(kind, size, shrinkage)
        if kind == "components":
            mean = self._rows.mean(dim=0)
            centred = self._rows - mean
            axes = _eye(len(mean), mean) if size is None else _principal(centred.T @ centred / len(centred), size)
            return _projection(axes, mean, False)
        given = SHRINKAGE if shrinkage is None else float(shrinkage)
        return _projection(self._moments.axes(kind, size, given), self._moments.mean, True)

    @cached_property
    def _moments(self) -> _Moments:
        return _Moments(directions(self._rows), self._labels)

    def _check(self, kind: str, size: int | None, shrinkage: float | None) -> None:
        if kind not in KINDS:
            raise ValueError(f"closed form: unknown kind {kind!r}{suggestion(kind, KINDS)}")
        width = self._rows.shape[1]
        if size is not None and not 1 <= size <= width:
            raise ValueError(f"{kind}: expected a size from 1 to {width}, the number of features, got {size}")
        if kind == "components":
            if shrinkage is not None:
                choices = ", ".join(NORMALIZED)
                raise ValueError(f"components: expected no shrinkage, got {shrinkage}. Choices: {choices}")
            return
        if shrinkage is not None and not (np.isfinite(shrinkage) and shrinkage >= 0):
            raise ValueError(f"{kind}: shrinkage: expected a finite number of at least 0, got {shrinkage}")
        check_classes(kind, self._labels)
        if self._moments.degenerate:
            raise ValueError(f"{kind}: expected classes whose images differ, got only equal features within each class")


def _features(features: Any) -> Any:
    """Features as a tensor on its device, or as an array. Raises a ValueError unless they are real numbers."""
    what = "closed form: features"
    if isinstance(features, Tensor):
        check_dense(what, features)
        features, real = features.detach(), not features.is_complex()
    else:
        features = host_array(features, what)
        real = features.dtype.kind in "biuf"
    if not real:
        raise ValueError(f"{what}: expected real numbers, got {features.dtype}")
    return features


def check_classes(kind: str, labels: np.ndarray) -> None:
    """Check that a kind can be fitted to observed labels (n,); those that are -1 are left out.

    Raises ValueError: `whitening` or `lda`, and no class has two images; `lda`, and there is only one class.
    """
    if kind not in NORMALIZED:
        return
    counts = np.unique(labels[labels >= 0], return_counts=True)[1]
    if counts.max(initial=0) < 2:
        raise ValueError(
            f"{kind}: expected at least one training class with two images, whose difference it divides by, got "
            f"{len(counts)} classes of one image. Choices: components, which needs no classes; or more images a class"
        )
    if kind == "lda" and len(counts) < 2:
        raise ValueError(
            "lda: expected at least two training classes, got one. Choices: whitening, components; or more classes"
        )


def taking_part(labels: np.ndarray) -> np.ndarray:
    """The positions (m,) of the rows that a projection is fitted to: those with a label, and some of too many."""
    kept = np.flatnonzero(labels >= 0)
    return kept[some(labels[kept], FITTED)]


def some(labels: np.ndarray, most: int) -> np.ndarray:
    """The positions of at most so many rows: of each class every second, third, ... row, or whole classes where classes
    are small. Rows may come in any order of classes.
    """
    positions, every = np.arange(len(labels)), max(1, -(-len(labels) // most))
    if every == 1 or len(labels) >= THINNED * every * len(np.unique(labels)):
        return np.sort(labels.argsort(kind="stable")[::every])
    return sample(positions, labels, most)


class _Moments:
    """Mean, covariance (T) and covariance within classes (W) of rows (n, D) of K classes 0..K-1, some without rows."""

    def __init__(self, rows: Tensor, labels: np.ndarray):
        _, classes, numbers = np.unique(labels, return_inverse=True, return_counts=True)
        given = (classes.argsort(kind="stable"), classes, numbers)
        order, inverse, counts = (torch.from_numpy(array).to(rows.device) for array in given)
        # on a GPU, `index_add_` would add in any order
        means = torch.segment_reduce(rows[order], "mean", lengths=counts, axis=0)
        self.mean = rows.mean(dim=0)
        shares = counts.to(rows.dtype) / len(rows)
        self._between = (means - self.mean) * shares.sqrt()[:, None]  # (K, D): B = between^T between
        apart = rows - means[inverse]
        self._within = apart.T @ apart / len(rows)
        self._total = self._within + self._between.T @ self._between

    @property
    def degenerate(self) -> bool:
        """Whether the rows of each class are equal."""
        return bool(self._within.trace() <= NONE * self._total.trace())

    def _factor(self, kind: str, shrinkage: float) -> Tensor:
        """The Cholesky factor of the shrunk covariance within classes."""
        width = len(self.mean)
        shrunk = self._within + shrinkage * self._within.trace() / width * _eye(width, self.mean)
        factor, failed = linalg.cholesky_ex(shrunk)
        if failed or factor.diagonal().square().min() <= NONE * shrunk.diagonal().max():  # 0 up to rounding
            raise ValueError(
                f"{kind}: shrinkage: expected more than 0, since the covariance within classes has no inverse, "
                f"got {shrinkage}. Choices: such as {SHRINKAGE}"
            )
        return factor

    def axes(self, kind: str, size: int | None, shrinkage: float) -> Tensor:
        """The weight (d, D) of `whitening` or `lda`."""
        factor, identity = self._factor(kind, shrinkage), _eye(len(self.mean), self.mean)
        if kind == "whitening" and size is None:
            return linalg.solve_triangular(factor, identity, upper=False)
        axes = identity[:0]  # orthonormal, in the whitened space
        if kind == "lda":
            white = linalg.solve_triangular(factor, self._between.T, upper=False)  # (D, K)
            directions, spread, _ = linalg.svd(white, full_matrices=False)
            informative = spread**2 > NONE * spread[0] ** 2
            axes = directions.T[informative][: len(self._between) - 1][:size]
        if size is not None and len(axes) < size:
            half = linalg.solve_triangular(factor, self._total, upper=False)
            total = linalg.solve_triangular(factor, half.T, upper=False)
            rest = identity - axes.T @ axes
            axes = torch.vstack([axes, _principal(rest @ total @ rest, size - len(axes), total.trace())])
        return linalg.solve_triangular(factor.T, axes.T, upper=True).T


def _principal(covariance: Tensor, size: int, variance: Tensor | None = None) -> Tensor:
    """The first eigenvectors (size, D) of a covariance (D, D); zero where hardly any of the variance is left."""
    width = len(covariance)
    if not covariance.isfinite().all():
        raise ValueError("closed form: expected smaller features, whose covariance is finite")
    whole = covariance.trace() if variance is None else variance
    values, vectors = linalg.eigh((covariance + covariance.T) / 2)
    kept = values > NONE * whole / width
    return (vectors * kept).T.flip(0)[:size]


def _eye(size: int, like: Tensor) -> Tensor:
    return torch.eye(size, dtype=like.dtype, device=like.device)


def _projection(axes: Tensor, mean: Tensor, normalize_input: bool) -> Projection:
    """The projection onto axes (d, D) of rows less their mean (D,)."""
    largest = axes.gather(1, axes.abs().argmax(dim=1, keepdim=True))
    signed = torch.where(largest < 0, -axes, axes)
    return Projection(signed.float(), -(signed @ mean).float(), normalize_input)
