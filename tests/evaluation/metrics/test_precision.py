import numpy as np
import pytest

from dml.evaluation import evaluate
from dml.evaluation.metrics.precision import Precision
from dml.evaluation.relevance import Hits


def test_share_of_the_nearest():
    hits = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 1]))
    np.testing.assert_allclose(Precision(3)(hits), [2 / 3, 0, 1 / 3])
    assert Precision(3).depth(100) == 3


def test_against_pytorch_metric_learning(case):
    pytest.importorskip("faiss")  # the peer needs it
    accuracy = pytest.importorskip("pytorch_metric_learning.utils.accuracy_calculator")
    peer = accuracy.AccuracyCalculator(include=("precision_at_1",), k=1)
    x, labels = case(0, duplicates=False)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert evaluate(x, labels, ["precision@1"])["precision@1"] == pytest.approx(
        peer.get_accuracy(x, labels)["precision_at_1"]
    )


def test_error():
    with pytest.raises(ValueError, match=r"precision: k: .*0"):
        Precision(0)
