"""Bounds: the closed forms against a scan over p of the conditions they solve."""

import math

import numpy as np
import pytest

from papers.noise.theory import pair_noise
from papers.noise.theory import skew as bounds
from papers.noise.theory import skew as eta


def scanned(classes, least, most):
    """The largest p up to which both conditions of eq. 22 hold, K w- being between least and most."""
    for p in np.linspace(0, (classes - 1) / classes, 20001):
        plus = pair_noise.positive_to_negative(p, classes)
        minus = pair_noise.negative_to_positive(p, classes)
        if 1 - plus * (1 + most / classes) < -1e-12 or 1 - minus * (1 + classes / least) < -1e-12:
            return p
    return (classes - 1) / classes


@pytest.mark.parametrize("classes", [2, 3, 10, 100, 11318])
@pytest.mark.parametrize("eta", [1.0, 1.5, 4.0, 30.0])
def test_hinge(classes, eta):
    assert bounds.hinge(eta, classes) == pytest.approx(scanned(classes, 1 / eta, eta), abs=2e-4)


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("gamma", [0.1, 0.5, 0.9, 1.0])
def test_marginal(classes, gamma):
    assert bounds.marginal(gamma, classes) == pytest.approx(scanned(classes, gamma, gamma), abs=2e-4)


def test_infinitely_many_classes_give_the_papers_formulas():
    assert bounds.unhinged() == 1.0
    assert bounds.hinge(2.0) == pytest.approx(1 - math.sqrt(1 / 2))
    assert bounds.marginal(0.75) == pytest.approx(0.5)
    for skew in (1.0, 2.0, 8.0):
        p = bounds.hinge(skew)
        assert 1 - (2 * p - p**2) * skew == pytest.approx(0, abs=1e-12)
        assert bounds.hinge(skew, 10**9) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize("classes", [None, 10])
def test_the_interval_of_eta_gives_that_of_the_bound(classes):
    skew = eta.estimate_eta(np.array([3000, 4000, 3000]), np.array([1000, 4000, 5000]))
    found = bounds.interval(skew, classes)
    assert found == (bounds.hinge(skew.eta, classes), bounds.hinge(skew.high, classes), bounds.hinge(skew.low, classes))
    assert found.low < found.bound < found.high
