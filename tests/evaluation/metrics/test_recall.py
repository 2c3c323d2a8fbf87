import numpy as np
import pytest

from dml.evaluation.metrics.scores import Recall
from dml.evaluation.ranking import Hits

# Three queries: hits at ranks 2 and 3; none found; at rank 1.
HITS = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 1]))


@pytest.mark.parametrize(("k", "values"), [(1, [0, 0, 1]), (2, [1, 0, 1]), (3, [1, 0, 1])])
def test_any_hit_counts_once(k, values):
    np.testing.assert_array_equal(Recall(k)(HITS), values)
    assert Recall(k).depth(100) == k
