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


def test_a_transition_matrix_is_had_exactly():
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": [[0, 1]], "matrix": [[0, 1], [1, 0]]}, "pairs or a matrix, not both"),
        ({"pairs": [[0, 0]]}, "names a class with itself"),
        ({"pairs": [[0, 1], [0, 2]]}, "a second time"),
        ({"pairs": [[0]]}, r"expected \[from, to\]"),
        ({"pairs": [[0, -1]]}, r"expected \[from, to\]"),
        ({"matrix": [[0, 1]]}, r"expected \(C, C\)"),
        ({"matrix": [[0, -1], [1, 0]]}, r"expected \(C, C\) numbers from 0"),
        ({"matrix": [[1, 0], [0, 1]]}, "off the diagonal are 0"),
    ],
)
def test_malformed_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        noise.build("asymmetric", rate=0.1, **settings)


def test_labels_out_of_the_matrix_and_pairs_that_none_has():
    with pytest.raises(ValueError, match="expected more than 3 rows"):
        noise.build("asymmetric", rate=0.1, matrix=[[0, 1], [1, 0]]).corrupt(LABELS, seed=0)
    with pytest.raises(ValueError, match="no confusion between classes"):
        noise.build("asymmetric", rate=0.1, pairs=[[8, 9]]).corrupt(LABELS, seed=0)
    tune = noise.build("asymmetric", rate=0.1, pairs=[[8, 9]]).corrupt(LABELS, seed=0, phase="tune")
    assert not tune.flipped.any()
