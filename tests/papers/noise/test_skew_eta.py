"""Eta: no bias for uniform draws, known skews are covered, sparse bins and correlated draws are allowed for."""

import numpy as np
import pytest

from papers.noise.theory import skew as bounds
from papers.noise.theory import skew as eta

pytestmark = pytest.mark.slow

CENTRES = np.arange(40) * 0.05 + 0.025
UNIFORM = np.exp(-(((CENTRES - 1.3) / 0.15) ** 2) / 2)  # distances of unit vectors: a few bins have most of the pairs
UNIFORM /= UNIFORM.sum()


def drawn(law, size, repeats, seed=0):
    """Counts (repeats, 40) of independent draws."""
    return np.random.default_rng(seed).multinomial(size, law, size=repeats)


def skewed(shape):
    """A law of draws over the bins, and its largest ratio to uniform drawing."""
    ratio = shape / (shape * UNIFORM).sum()
    return ratio * UNIFORM, ratio.max()


STEP = skewed(np.where(np.cumsum(UNIFORM) < 0.3, 3.0, 1.0))  # near negatives are favoured
WEAK = skewed(np.where(np.cumsum(UNIFORM) < 0.3, 1.1, 1.0))
MIDDLE = skewed(np.where(np.abs(CENTRES - 1.25) < 0.06, 2.0, 0.7))
FAR = skewed(np.where(np.cumsum(UNIFORM) > 0.8, 6.0, 0.5))


@pytest.mark.parametrize("size", [300, 3000, 30_000, 300_000])
def test_uniform_draws_have_no_skew(size):
    """Also in the bound: uniform drawing tolerates any rate, and the interval must say so."""
    skews = [eta.estimate_eta(counts, UNIFORM) for counts in drawn(UNIFORM, size, 300)]
    found = np.array([skew.eta for skew in skews])
    assert np.mean([skew.low <= 1 <= skew.high for skew in skews]) >= 0.95
    assert 1 <= found.mean() < 1.03
    assert np.quantile(found, 0.95) < 1.12
    widths = np.array([skew.high for skew in skews])
    assert widths.mean() < 1 + 4 / np.sqrt(max(100, size / 100)) + 0.1 * (size < 1000)
    limits = [bounds.interval(skew) for skew in skews]
    assert np.mean([limit.high == 1 for limit in limits]) >= 0.95
    assert np.mean([limit.bound for limit in limits]) > 0.85


@pytest.mark.parametrize("size", [10_000, 40_000, 160_000])
@pytest.mark.parametrize("law", [STEP, WEAK, MIDDLE, FAR], ids=["step", "weak", "middle", "far"])
def test_a_known_skew_is_covered(law, size):
    probabilities, truth = law
    skews = [eta.estimate_eta(counts, UNIFORM) for counts in drawn(probabilities, size, 300, seed=1)]
    assert np.mean([skew.low <= truth <= skew.high for skew in skews]) >= 0.93
    assert np.mean([skew.eta for skew in skews]) == pytest.approx(truth, rel=0.03)
    assert all(skew.low <= skew.eta <= skew.high for skew in skews)
    assert np.mean([skew.low for skew in skews]) > 1 + 0.5 * (truth - 1) - 0.1
    limits = [bounds.interval(skew) for skew in skews]
    assert np.mean([limit.low <= bounds.hinge(truth) <= limit.high for limit in limits]) >= 0.93


def test_sparse_bins_are_joined_with_their_neighbours():
    skew = eta.estimate_eta(np.array([3, 5000, 5000, 0]), np.array([1, 50000, 50000, 0]))
    assert skew.eta < 1.02
    assert skew.ratio[0] == skew.ratio[1]
    assert skew.ratio[2] == skew.ratio[3]


def test_draws_from_sparse_bins_are_not_lost():
    """The hardest negatives lie where uniform drawing has hardly a pair."""
    law = np.array([0.004, 0.004, 0.004, 0.488, 0.5])
    skew = eta.estimate_eta(np.array([9000, 500, 400, 60, 40]), law)
    assert skew.low > 50


class TestPooling:
    def test_correlated_draws_widen_the_interval(self):
        """Every draw counted four times, as when all positives of an anchor share a negative."""
        law, truth = STEP
        few = [drawn(law, 5000, 5, seed) for seed in range(200)]
        skews = [eta.estimate_eta(4 * counts, np.tile(UNIFORM, (5, 1))) for counts in few]
        assert np.mean([skew.low <= truth <= skew.high for skew in skews]) >= 0.93
        independent = eta.estimate_eta(drawn(law, 20_000, 5), np.tile(UNIFORM, (5, 1)))
        assert skews[0].high - skews[0].low > 1.5 * (independent.high - independent.low)
