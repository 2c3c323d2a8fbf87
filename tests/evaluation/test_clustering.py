"""The table of classes against clusters."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from dml.evaluation.clustering import contingency, mutual_information


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
