"""NMI and AMI, which differ in nothing but the adjustment for chance, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from dml.evaluation.metrics.scores import Ami, Nmi, contingency

pytestmark = pytest.mark.parametrize(
    ("metric", "reference"),
    [(Nmi, normalized_mutual_info_score), (Ami, adjusted_mutual_info_score)],
    ids=["nmi", "ami"],
)


@pytest.mark.parametrize("average", ["arithmetic", "geometric"])
@pytest.mark.parametrize("clusters", [1, 2, 9, 60])
@pytest.mark.parametrize("classes", [1, 9, 60])
def test_against_scikit_learn(metric, reference, average, classes, clusters):
    rng = np.random.default_rng(classes * 100 + clusters)
    y = rng.integers(classes, size=120)
    for c in (rng.integers(clusters, size=120), np.where(rng.random(120) < 0.7, y, rng.integers(clusters, size=120))):
        assert metric(average)(contingency(y, c)) == pytest.approx(reference(y, c, average_method=average), abs=1e-9)


def test_extremes(metric, reference):
    y = np.arange(30) // 5
    for c in (7 - y, 0 * y):
        assert metric()(contingency(y, c)) == pytest.approx(reference(y, c), abs=1e-12)
    assert metric()(contingency(0 * y, 0 * y)) == 1
    assert metric().clusters(6) == 6
