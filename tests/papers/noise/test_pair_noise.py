"""Pair noise: the formulas against counting, and the printed one beside it."""

import itertools

import numpy as np
import pytest

from dml import noise
from papers.noise.theory import pair_noise


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
