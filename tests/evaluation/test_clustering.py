"""The table of classes against clusters."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dml.evaluation.clustering import contingency, entropy, mean_entropy, mutual_information


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


def test_entropy_and_means():
    assert entropy(np.array([4, 4])) == pytest.approx(np.log(2))
    assert entropy(np.array([3])) == 0
    assert mean_entropy(1.0, 4.0, "arithmetic") == 2.5
    assert mean_entropy(1.0, 4.0, "geometric") == 2.0
    with pytest.raises(ValueError, match="harmonic"):
        mean_entropy(1.0, 1.0, "harmonic")
