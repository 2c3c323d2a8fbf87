import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from dml.evaluation.clustering import contingency
from dml.evaluation.metrics.nmi import Nmi


@pytest.mark.parametrize("average", ["arithmetic", "geometric"])
@pytest.mark.parametrize("clusters", [1, 2, 9, 60])
@pytest.mark.parametrize("classes", [1, 9, 60])
def test_against_scikit_learn(average, classes, clusters):
    rng = np.random.default_rng(classes * 100 + clusters)
    y = rng.integers(classes, size=120)
    for c in (rng.integers(clusters, size=120), np.where(rng.random(120) < 0.7, y, rng.integers(clusters, size=120))):
        expected = normalized_mutual_info_score(y, c, average_method=average)
        assert Nmi(average)(contingency(y, c)) == pytest.approx(expected, abs=1e-9)


def test_a_class_and_a_cluster_of_more_than_half():
    y, c = np.arange(120) < 100, np.arange(120) % 10 < 9
    assert Nmi()(contingency(y, c)) == pytest.approx(normalized_mutual_info_score(y, c), abs=1e-9)


def test_extremes():
    y = np.arange(30) // 5
    assert Nmi()(contingency(y, 7 - y)) == pytest.approx(1)
    assert Nmi()(contingency(y, 0 * y)) == pytest.approx(0, abs=1e-12)
    assert Nmi()(contingency(0 * y, 0 * y)) == 1
    assert Nmi().clusters(6) == 6


def test_error():
    with pytest.raises(ValueError, match="'arithmetic' or 'geometric'"):
        Nmi("harmonic")
