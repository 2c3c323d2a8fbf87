"""Pair noise by counting, and the unhinged losses under noise."""

import itertools

import numpy as np
import pytest

from dml import noise
from papers.noise.theory import pair_noise, skew, unhinged


def counted(p, classes, pair):
    """P(the pair's kind is wrong), by all outcomes of both labels."""
    chance = [[1 - p if u == y else p / (classes - 1) for u in range(classes)] for y in range(classes)]
    wrong = 0.0
    for u, v in itertools.product(range(classes), repeat=2):
        if (u == v) != (pair[0] == pair[1]):
            wrong += chance[pair[0]][u] * chance[pair[1]][v]
    return wrong


@pytest.mark.parametrize("classes", [2, 3, 5, 20])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_formulas_agree_with_counting(p, classes):
    assert pair_noise.positive_to_negative(p, classes) == pytest.approx(counted(p, classes, (0, 0)))
    assert pair_noise.negative_to_positive(p, classes) == pytest.approx(counted(p, classes, (0, 1)))


def test_the_printed_formula_is_off_by_p_squared_over_the_other_classes():
    for classes, p in itertools.product((3, 10, 100), (0.2, 0.6)):
        gap = counted(p, classes, (0, 0)) - pair_noise.positive_to_negative(p, classes, printed=True)
        assert gap == pytest.approx(p**2 / (classes - 1))
    assert pair_noise.positive_to_negative(1.0, 2, printed=True) < 0  # no probability


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
def test_the_measured_pair_noise_agrees_with_the_formulas(classes, rate):
    """q+ is the counted `2p(1-p) + p^2 (1 - 1/(K-1))`; the one that the paper prints is off."""
    labels = np.arange(2000 * classes) % classes
    observed = noise.build("uniform", rate=rate).corrupt(labels, seed=1).observed
    table = np.zeros((classes, classes))
    np.add.at(table, (labels, observed), 1)
    together = (table**2).sum() - len(labels)  # ordered pairs of one true class that are still together
    positives = len(labels) * (2000 - 1)
    negatives = len(labels) * (len(labels) - 2000)
    arrived = (table.sum(0) ** 2).sum() - (table**2).sum()  # ordered pairs of two true classes with one observed label
    measured_plus, measured_minus = 1 - together / positives, arrived / negatives
    assert measured_plus == pytest.approx(pair_noise.positive_to_negative(rate, classes), abs=0.01)
    assert measured_minus == pytest.approx(pair_noise.negative_to_positive(rate, classes), abs=0.01)
    printed = pair_noise.positive_to_negative(rate, classes, printed=True)
    if rate >= 0.3:
        gap = rate**2 / (classes - 1)
        assert measured_plus - printed == pytest.approx(gap, abs=0.01)


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
