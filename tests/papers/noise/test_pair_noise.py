"""Pair noise: the formulas against counting, and the printed one beside it."""

import itertools

import pytest

from dml.theory.noise import pair_noise


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


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"expected 0 <= p <= 1, got 1\.5"):
        pair_noise.negative_to_positive(1.5, 3)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        pair_noise.positive_to_negative(0.5, 1)
