import numpy as np

from dml.evaluation.metrics.scores import Precision
from dml.evaluation.ranking import Hits


def test_share_of_the_nearest():
    hits = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 1]))
    np.testing.assert_allclose(Precision(3)(hits), [2 / 3, 0, 1 / 3])
    assert Precision(3).depth(100) == 3
