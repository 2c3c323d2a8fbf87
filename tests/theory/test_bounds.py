"""Bounds: the closed forms against a scan over p of the conditions they solve."""

import math

import numpy as np
import pytest

from dml.theory import bounds, pair_noise


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
    for eta in (1.0, 2.0, 8.0):
        p = bounds.hinge(eta)
        assert 1 - (2 * p - p**2) * eta == pytest.approx(0, abs=1e-12)
        assert bounds.hinge(eta, 10**9) == pytest.approx(p, abs=1e-4)


def test_more_classes_and_less_skew_tolerate_more():
    assert bounds.unhinged(3) < bounds.unhinged(30) < bounds.unhinged(300) < bounds.unhinged()
    assert bounds.hinge(5.0, 100) < bounds.hinge(2.0, 100) < bounds.unhinged(100)


def test_wrong_arguments():
    for call, message in (
        (lambda: bounds.hinge(0.5), "eta: expected at least 1, got 0.5"),
        (lambda: bounds.hinge(float("nan")), "eta: expected at least 1"),
        (lambda: bounds.marginal(1.5), "gamma: expected 0 to 1, got 1.5"),
        (lambda: bounds.unhinged(1), "classes: expected at least 2, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
