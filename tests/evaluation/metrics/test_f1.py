import numpy as np
import pytest
from sklearn.metrics.cluster import pair_confusion_matrix

from dml.evaluation.clustering import contingency
from dml.evaluation.metrics.scores import F1


@pytest.mark.parametrize("seed", range(5))
def test_against_the_pair_confusion_matrix(seed):
    rng = np.random.default_rng(seed)
    y, c = rng.integers(6, size=80), rng.integers(1 + 3 * seed, size=80)
    (_, fp), (fn, tp) = pair_confusion_matrix(y, c)
    assert F1()(contingency(y, c)) == pytest.approx(2 * tp / (2 * tp + fp + fn))


def test_no_pairs_and_many():
    one = np.arange(5)
    assert F1()(contingency(one, one)) == 1
    assert F1()(contingency(one, 0 * one)) == 0
    many = np.zeros(3_000_000, dtype=np.int64)
    assert F1()(contingency(many, many)) == 1
