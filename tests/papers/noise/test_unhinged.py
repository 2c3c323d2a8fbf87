"""The unhinged losses under noise: the risk against simulated labels, the minimisers, and the marginal loss."""

import numpy as np
import pytest

from papers.noise.theory import pair_noise, skew, unhinged


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("p", [0.2, 0.6, 0.9])
def test_the_noisy_risk_is_the_multiplied_clean_one(balanced, p):
    """Weighted sums with labels as observed: their slope in each clean sum is the multiplier."""
    classes, draws = 4, 40_000
    weight = unhinged.negative_weight(classes, balanced)
    generator = np.random.default_rng(0)
    for same, multiplier in zip((True, False), unhinged.multipliers(p, classes, balanced), strict=True):
        true = np.array([0, 0 if same else 1])
        flips = generator.random((draws, 2)) < p
        observed = (true + flips * generator.integers(1, classes, (draws, 2))) % classes
        agree = (observed[:, 0] == observed[:, 1]).mean()
        slope = agree * 1.0 - (1 - agree) * weight  # of the observed risk in the pair's distance
        clean = 1.0 if same else -weight
        assert slope == pytest.approx(multiplier * clean, abs=4 * (1 + weight) * 0.5 / draws**0.5)


@pytest.mark.parametrize("classes", [2, 5, 100, 11318])
def test_the_bound_is_where_a_multiplier_vanishes(classes):
    bound = skew.unhinged(classes)
    assert min(unhinged.multipliers(bound, classes)) == pytest.approx(0, abs=1e-9)
    assert min(unhinged.multipliers(bound - 1e-4, classes)) > 0 > min(unhinged.multipliers(bound + 1e-4, classes))


@pytest.mark.parametrize("classes", [2, 3, 10, 1000])
def test_balanced_weights_have_one_multiplier_that_is_a_square(classes):
    for p in np.linspace(0, 1, 21):
        square = (1 - p * classes / (classes - 1)) ** 2
        assert unhinged.multipliers(p, classes, balanced=True) == pytest.approx((square, square), abs=1e-12)


class TestMinimisers:
    """Free points on the sphere: a simplex below the bound, one point above."""

    @pytest.mark.parametrize("classes", [3, 4])
    def test_the_papers_weight(self, classes):
        bound, corner = skew.unhinged(classes), np.sqrt(2 * classes / (classes - 1))
        below, above = (unhinged.minimum(bound + step, classes, 3) for step in (-0.05, 0.05))
        assert (below.within, below.between) == pytest.approx((0, corner), abs=1e-6)
        assert below.risk == pytest.approx(unhinged.simplex_risk(bound - 0.05, classes, 3))
        assert (above.within, above.between) == pytest.approx((0, 0), abs=1e-6)
        assert above.risk < unhinged.simplex_risk(bound + 0.05, classes, 3)

    def test_the_simplex_minimises_both_clean_sums(self):
        """The condition of proposition 1: no embedding has a larger sum of negative distances."""
        generator = np.random.default_rng(0)
        group = np.repeat(np.arange(4), 3)
        other = np.not_equal.outer(group, group)
        for _ in range(100):
            points = generator.normal(size=(12, 4))
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            distances = np.linalg.norm(points[:, None] - points[None], axis=2)
            assert distances[other].mean() < np.sqrt(8 / 3)


class TestMarginal:
    """The two marginal losses of a triplet are its triplet loss and a constant."""

    def test_any_beta_of_the_anchor_cancels(self):
        generator = np.random.default_rng(0)
        for _ in range(50):
            points, beta = generator.normal(size=(3, 5)), generator.normal()
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            gap = unhinged.marginal(points, 0.2, lambda _, beta=beta: beta) - unhinged.triplet(points, 0.2)
            assert gap == pytest.approx(unhinged.DIAMETER + 0.2)


def test_pair_noise_is_simulated_as_it_is_counted():
    for classes, p in ((2, 0.9), (3, 0.3), (10, 0.5), (100, 0.7)):
        found = pair_noise.simulate(p, classes, draws=50_000, seed=1)
        assert abs(found.minus - pair_noise.negative_to_positive(p, classes)) < 4 * found.minus_error
        assert abs(found.plus - pair_noise.positive_to_negative(p, classes)) < 4 * found.plus_error
        if classes < 100:
            assert abs(found.plus - pair_noise.positive_to_negative(p, classes, printed=True)) > 8 * found.plus_error
