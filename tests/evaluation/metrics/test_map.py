import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from dml.evaluation import evaluate
from dml.evaluation.metrics.scores import Map
from dml.evaluation.ranking import Hits


def test_by_hand():
    hits = Hits(np.array([0, 0, 1]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 1]))
    np.testing.assert_allclose(Map()(hits), [(1 / 2 + 2 / 3) / 2, 1])
    assert Map().depth(3) is None


def test_against_scikit_learn(case):
    x, labels = case(0, duplicates=False)
    y = x / np.linalg.norm(x, axis=1, keepdims=True)
    values = []
    for q in range(len(y)):
        others = np.arange(len(y)) != q
        if (labels[others] == labels[q]).any():
            values.append(average_precision_score(labels[others] == labels[q], y[others] @ y[q]))
    assert evaluate(x, labels, ["map"])["map"] == pytest.approx(np.mean(values), abs=1e-6)
