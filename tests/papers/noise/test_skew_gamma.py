"""Gamma: known weights are covered, pairs without a loss do not count, and the bound follows."""

import numpy as np
import pytest

from papers.noise.theory import skew

CENTRES = np.arange(40) * 0.05 + 0.025
UNIFORM = np.exp(-(((CENTRES - 1.3) / 0.15) ** 2) / 2)
UNIFORM /= UNIFORM.sum()
NEAR = np.cumsum(UNIFORM) < 0.3


def weighted(weight):
    """A law of draws in which a pair has this weight, and the weights relative to uniform drawing."""
    relative = weight / (weight * UNIFORM).sum()
    return relative * UNIFORM, relative


def drawn(law, size, repeats, seed):
    return np.random.default_rng(seed).multinomial(size, law, size=repeats)


@pytest.mark.parametrize("size", [1000, 30_000])
def test_uniform_drawing_has_gamma_one(size):
    pairs = zip(drawn(UNIFORM, size, 100, 0), drawn(UNIFORM, size, 100, 1), strict=True)
    found = [skew.estimate_gamma((negative, UNIFORM), (positive, UNIFORM)) for negative, positive in pairs]
    assert np.mean([g.low <= 1 <= g.high for g in found]) >= 0.95
    assert np.mean([g.gamma for g in found]) > 0.93
    assert all(g.low <= g.gamma <= g.high <= 1 for g in found)


@pytest.mark.parametrize("size", [10_000, 100_000])
def test_known_weights_are_covered(size):
    """Near negatives are favoured threefold, and far positives twofold."""
    negatives, eta_negative = weighted(np.where(NEAR, 3.0, 1.0))
    positives, eta_positive = weighted(np.where(NEAR, 1.0, 2.0))
    truth = eta_negative.min() / eta_positive.max()
    pairs = zip(drawn(negatives, size, 200, 2), drawn(positives, size, 200, 3), strict=True)
    found = [skew.estimate_gamma((negative, UNIFORM), (positive, UNIFORM)) for negative, positive in pairs]
    assert np.mean([g.low <= truth <= g.high for g in found]) >= 0.95
    assert np.mean([g.gamma for g in found]) == pytest.approx(truth, rel=0.03)
    assert np.mean([g.negative for g in found]) == pytest.approx(eta_negative.min(), rel=0.03)
    assert np.mean([g.positive for g in found]) == pytest.approx(eta_positive.max(), rel=0.03)


def test_pairs_without_a_loss_have_no_weight():
    """Drawn uniformly, eta is one over the share of pairs that have a loss, whatever is drawn besides."""
    counts = np.array([1000, 4000, 5000])
    found = skew.estimate_gamma(
        (counts, counts), (counts, counts), np.array([1, 1, 0], bool), np.array([0, 0, 1], bool)
    )
    assert found.negative == pytest.approx(2, rel=0.05)
    assert found.positive == pytest.approx(2, rel=0.05)
    found = skew.estimate_gamma(
        (counts, counts), (counts, counts), np.array([1, 1, 0], bool), np.array([1, 0, 0], bool)
    )
    assert found.positive == pytest.approx(10, rel=0.05)
    assert found.gamma == pytest.approx(0.2, rel=0.1)
    assert skew.marginal(found.gamma) == pytest.approx(1 - np.sqrt(0.8), abs=0.02)


def test_pairs_that_are_never_drawn_have_no_weight():
    """Equation 37 is about weights above 0: the others drop out of its sum."""
    half = skew.estimate_gamma(
        (np.array([0, 9000]), np.array([5000, 5000])), (np.array([500, 500]), np.array([500, 500]))
    )
    assert half.negative == pytest.approx(2, rel=0.05)
    assert half.gamma == 1
