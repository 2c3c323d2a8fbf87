import numpy as np
import pytest

from dml.evaluation import evaluate
from dml.evaluation.metrics.scores import MapAtR
from dml.evaluation.ranking import Hits


def test_divides_by_r_and_looks_no_farther():
    hits = Hits(np.array([0, 0, 2]), np.array([2, 3, 1]), np.array([1, 2, 1]), np.array([2, 4, 3]))
    np.testing.assert_allclose(MapAtR()(hits), [1 / 2 / 2, 0, 1 / 3])
    assert MapAtR().depth(17) == 17


@pytest.mark.parametrize("seed", range(3))
def test_against_pytorch_metric_learning(case, seed):
    pytest.importorskip("faiss")  # the peer needs it
    accuracy = pytest.importorskip("pytorch_metric_learning.utils.accuracy_calculator")
    peer = accuracy.AccuracyCalculator(include=("mean_average_precision_at_r",), k="max_bin_count")
    x, labels = case(seed, duplicates=False)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert evaluate(x, labels, ["map@r"])["map@r"] == pytest.approx(
        peer.get_accuracy(x, labels)["mean_average_precision_at_r"]
    )
