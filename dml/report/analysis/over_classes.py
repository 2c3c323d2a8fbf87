"""The uncertainty of a mean score, or of a mean difference, over seeds and over classes like those that were tested.

Queries of a class resemble each other, so classes count as wholes: the variance is that of a bootstrap that resamples
classes with all their queries (Cameron, Gelbach and Miller 2008, section 3), computed directly by linearisation, as of
a ratio of sums over classes. The variance over seeds adds to it (`terms`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dml.report.estimates import Estimate, Term, estimate


def over_classes(scores: ArrayLike, classes: ArrayLike) -> Estimate:
    """The mean over queries and seeds, with an interval over seeds and classes.

    Parameters
    ----------
    scores : (S, Q), of each of at least 2 seeds and each query, or differences of two methods; NaN leaves a query out.
    classes : (Q,), of at least 2 classes.

    Raises
    ------
    ValueError : other shapes, or fewer seeds or classes.
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(classes)
    if values.ndim != 2 or labels.shape != values.shape[1:]:
        raise ValueError(f"over_classes: expected scores (S, Q) and classes (Q,), got {values.shape}, {labels.shape}")
    known = ~np.isnan(values).any(axis=0)
    _, place, counts = np.unique(labels[known], return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(place, row[known]) for row in values]) / counts if known.any() else values[:, :0]
    return over_class_means(means, counts)


def over_class_means(means: ArrayLike, counts: ArrayLike, searches: Sequence[Term] = ()) -> Estimate:
    """The same from each class's mean.

    Parameters
    ----------
    means : (S, C), of each seed and class.
    counts : (C,), queries of each class.
    searches : further variance of the mean, see `dml.report.analysis.search_uncertainty`.
    """
    values, weights = np.asarray(means, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(f"over_classes: expected at least 2 seeds and 2 classes, got {values.shape}")
    (seeds, classes), total = values.shape, weights.sum()
    each = values @ weights / total
    mean = float(each.mean())
    rest = weights * (values.mean(axis=0) - mean)
    of_seeds = Term(float(each.var(ddof=1)) / seeds, seeds - 1.0)
    of_classes = Term(float(rest @ rest) * classes / (classes - 1) / total**2, classes - 1.0)
    return estimate(mean, [of_seeds, of_classes], searches)
