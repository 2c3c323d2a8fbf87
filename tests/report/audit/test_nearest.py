"""Neighbours against a naive loop in float64."""

import numpy as np
import pytest

from dml.audit.pictures import nearest, nearest_by_fold


def test_the_same_as_a_loop():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(57, 5)) * rng.uniform(0.1, 9, size=(57, 1))
    rows = np.array([3, 0, 56, 31])
    found, cosines = nearest(vectors, rows, 6)
    for i, row in enumerate(rows):
        others = [j for j in range(57) if j != row]
        cosine = {
            j: vectors[row] @ vectors[j] / np.linalg.norm(vectors[row]) / np.linalg.norm(vectors[j]) for j in others
        }
        expected = sorted(others, key=lambda j: -cosine[j])[:6]
        assert found[i].tolist() == expected
        assert cosines[i] == pytest.approx([cosine[j] for j in expected], abs=1e-5)


def test_each_image_is_compared_in_the_vectors_of_its_fold():
    rng = np.random.default_rng(0)
    spaces, folds = rng.normal(size=(3, 30, 4)), rng.integers(-1, 3, 30)
    rows = np.flatnonzero(folds >= 0)[[5, 0, 9, 2]]
    found, cosines = nearest_by_fold(list(spaces), folds, rows, 6)
    for i, row in enumerate(rows):
        expected, similar = nearest(spaces[folds[row]], rows[i : i + 1], 6)
        assert found[i].tolist() == expected[0].tolist()
        assert cosines[i] == pytest.approx(similar[0], abs=1e-6)
