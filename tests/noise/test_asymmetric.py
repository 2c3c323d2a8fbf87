"""Asymmetric noise: transitions as the pairs or the matrix say."""

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


def test_a_transition_matrix_is_reproduced():
    matrix = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0], [0.1, 0.1, 0.7, 0.1], [0.25, 0.0, 0.0, 0.75]])
    observed = noise.build("asymmetric", rate=0.5, matrix=matrix.tolist()).corrupt(LABELS, seed=0).observed
    measured = transitions(LABELS, observed)
    assert np.allclose(np.diag(measured), np.diag(matrix))
    assert np.abs(measured - matrix).max() < 0.04
    assert (measured[matrix == 0] == 0).all()


def test_a_part_of_the_classes_keeps_its_own_transitions():
    labels = LABELS[LABELS % 2 == 0]
    matrix = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0], [0.1, 0.1, 0.7, 0.1], [0.25, 0.0, 0.0, 0.75]])
    observed = noise.build("asymmetric", rate=0.5, matrix=matrix.tolist()).corrupt(labels, seed=0).observed
    measured = transitions(labels // 2, observed // 2, 2)
    assert measured == pytest.approx(np.array([[0.8, 0.2], [0.1, 0.9]]))
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


def test_rare_confusions_of_small_classes_happen_as_often_as_the_matrix_says():
    """200 classes of 5 with rows (.8 .14 .02 .02 .02): each class flips one label, in 3 of 10 cases to a rare class."""
    labels = np.repeat(np.arange(200), 5)
    matrix = sum(np.roll(np.eye(200), k, axis=1) * share for k, share in enumerate((0.8, 0.14, 0.02, 0.02, 0.02)))
    counts = np.zeros((40, 5))
    for seed in range(40):
        observed, flipped = noise.build("asymmetric", rate=0.2, matrix=matrix).corrupt(labels, seed)
        counts[seed] = np.bincount((observed - labels)[flipped] % 200, minlength=5)
    assert (counts.sum(axis=1) == 200).all()
    assert counts.mean(axis=0) == pytest.approx([0, 140, 20, 20, 20], abs=3)
    assert counts[:, 2:].min() >= 5  # in every seed: 20 expected, standard deviation 4
