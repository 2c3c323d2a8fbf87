"""The table of classes against clusters, and re-ranked embeddings."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dml.evaluation import augmented
from dml.evaluation.metrics.scores import contingency, mutual_information


@pytest.mark.parametrize("seed", range(3))
def test_table_against_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, clusters = rng.integers(9, size=200) * 7 - 20, rng.integers(30, size=200)
    table = contingency(labels, clusters)
    dense = np.zeros((len(table.classes), len(table.clusters)), dtype=np.int64)
    dense[table.rows, table.columns] = table.counts
    np.testing.assert_array_equal(dense, contingency_matrix(labels, clusters))
    np.testing.assert_array_equal(dense.sum(1), table.classes)
    np.testing.assert_array_equal(dense.sum(0), table.clusters)
    assert mutual_information(table) == pytest.approx(mutual_info_score(labels, clusters))


def naive(x, neighbors, alpha):
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    out = []
    for i, own in enumerate(x):
        order = sorted((j for j in range(len(x)) if j != i), key=lambda j: -(own @ x[j]))[:neighbors]
        total = own + sum(max(0.0, own @ x[j]) ** alpha * x[j] for j in order)
        out.append(total / np.linalg.norm(total))
    return np.array(out)


@pytest.mark.parametrize(("neighbors", "alpha"), [(1, 3.0), (5, 0.0), (5, 3.0), (100, 1.0)])
def test_against_a_loop(neighbors, alpha):
    x = np.random.default_rng(0).normal(size=(30, 6)) + 0.5
    np.testing.assert_allclose(augmented(x, neighbors, alpha).numpy(), naive(x, neighbors, alpha), atol=1e-5)


def test_copies_are_no_neighbours_of_themselves():
    x = np.repeat(np.eye(3), 4, axis=0)
    np.testing.assert_allclose(augmented(x, 2).numpy(), x, atol=1e-6)
    np.testing.assert_allclose(augmented(x[:1], 2).numpy(), x[:1])
