"""LoOp's proposition 1: its counterexamples, and the conditions under which it holds."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from papers.loop.theory import own_class


def test_the_flat_counterexample_by_scipy():
    first, second = multivariate_normal([0, 0], np.diag([9, 1])), multivariate_normal([0, 2], np.diag([1, 9]))
    example = own_class.flat_counterexample()
    assert sorted(np.linalg.eigvalsh(np.diag([9, 1]))) == sorted(np.linalg.eigvalsh(np.diag([1, 9])))
    for point in (example.start, example.end):
        assert first.logpdf(point) > second.logpdf(point)
    assert first.logpdf(example.middle) < second.logpdf(example.middle)
    np.testing.assert_allclose((example.start + example.end) / 2, example.middle)
    expected = [first.logpdf(p) - second.logpdf(p) for p in (example.start, example.end, example.middle)]
    np.testing.assert_allclose(example.log_ratios(), expected, atol=1e-12)


def sphere_grid(n=200_000):
    """Nearly uniform points (Fibonacci)."""
    k = np.arange(n) + 0.5
    z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
    return np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], axis=1)


def test_the_laws_on_the_sphere_are_rotations_with_equal_eigenvalues():
    """The same normalising constant, and covariances with the same eigenvalues, by integration."""
    example, points = own_class.sphere_counterexample(), sphere_grid()
    constants, values = [], []
    for law in (example.first, example.second):
        weight = np.exp(law.log(points))
        constants.append(weight.mean())
        mean = (weight[:, None] * points).sum(0) / weight.sum()
        centred = points - mean
        values.append(np.linalg.eigvalsh((weight[:, None] * centred).T @ centred / weight.sum()))
    assert constants[0] == pytest.approx(constants[1], rel=1e-4)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-3)
    assert values[0][2] > 1.5 * values[0][1]  # not round about the mean


@pytest.mark.parametrize("make", [own_class.sphere_counterexample, own_class.cap_counterexample])
def test_the_counterexamples_on_the_sphere(make):
    example = make()
    for point in (example.start, example.end, example.middle):
        assert np.linalg.norm(point) == pytest.approx(1)
    start, end, middle = example.log_ratios()
    assert start > 0.3
    assert end > 0.3
    assert middle < -0.3
    assert own_class.leaves(example.first, example.second, example.start[None], example.end[None], True)[0]
