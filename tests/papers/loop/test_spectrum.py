"""Eigenvalues of class covariances, and what chance makes of classes of one shape."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from papers.loop.sections import spectrum as analysis


def _classes(seed, count=60, size=50, dimensions=16, spread=0.0):
    """Classes with the eigenvalues 5, 3, 2, 0.05, ..., each turned at random; `spread` scales them differently."""
    rng = np.random.default_rng(seed)
    scales = np.array([5.0, 3.0, 2.0] + [0.05] * (dimensions - 3))
    points = []
    for _ in range(count):
        turned, _ = np.linalg.qr(rng.normal(size=(dimensions, dimensions)))
        scale = np.exp(spread * rng.normal())
        points.append(
            rng.normal(size=(size, dimensions)) * np.sqrt(scales * scale) @ turned + rng.normal(size=dimensions)
        )
    return np.concatenate(points), np.repeat(np.arange(count), size)


@pytest.mark.parametrize("size", [5, 50])
def test_the_eigenvalues_are_those_of_pca_by_class(size):
    points, labels = _classes(0, count=4, size=size, dimensions=8)
    found = analysis.spectrum(points, labels)
    for label in range(4):
        expected = PCA(3).fit(points[labels == label]).explained_variance_
        np.testing.assert_allclose(found.classes[label], expected, rtol=1e-6)


@pytest.mark.parametrize("dimensions", [3, 16, 64])
def test_classes_of_one_shape_vary_as_much_as_chance(dimensions):
    """Also if they are turned against each other, which makes the pooled covariance round."""
    points, labels = _classes(1, dimensions=dimensions)
    found = analysis.spectrum(points, labels)
    np.testing.assert_allclose(found.null.mean(axis=(0, 1)), found.classes.mean(axis=0), rtol=0.08)
    low, high = np.percentile(found.null_variation, (0, 100), axis=0)
    assert (found.variation > 0.8 * low).all()
    assert (found.variation < 1.2 * high).all()
