"""Asymmetric noise: transitions as the pairs say."""

import numpy as np
import pytest

from dml import noise

LABELS = np.repeat(np.arange(4), 1000)


def transitions(labels, observed, classes=4):
    table = np.zeros((classes, classes))
    np.add.at(table, (labels, observed), 1)
    return table / table.sum(1, keepdims=True)


def test_the_next_class_by_default():
    observed = noise.build("asymmetric", rate=0.3).corrupt(LABELS, seed=0).observed
    assert np.allclose(transitions(LABELS, observed), 0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1))


def test_pairs():
    observed = noise.build("asymmetric", rate=0.4, pairs=[[0, 1], [1, 0], [2, 3]]).corrupt(LABELS, seed=0).observed
    expected = [[0.6, 0.4, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 0, 1]]
    assert np.allclose(transitions(LABELS, observed), expected)


def test_a_part_of_the_classes_keeps_its_own_transitions():
    labels = LABELS[LABELS % 2 == 0]
    paired = noise.build("asymmetric", rate=0.2, pairs=[[0, 1], [2, 0]]).corrupt(labels, seed=0)
    assert paired.flipped.sum() == 200
    assert (paired.observed[labels == 0] == 0).all()


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_the_rate_is_exact_with_small_classes(rate, size):
    labels = np.repeat(np.arange(100), size)
    for seed in range(3):
        observed, flipped = noise.build("asymmetric", rate=rate).corrupt(labels, seed)
        assert abs(flipped.sum() - rate * len(labels)) <= 0.5
        assert (observed[flipped] == (labels[flipped] + 1) % 100).all()
        assert np.abs(np.bincount(labels[flipped], minlength=100) - rate * size).max() < 1
