import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from dml.evaluation import Vectors, evaluate
from dml.evaluation.kmeans import kmeans


def test_is_the_nmi_of_more_clusters(case):
    x, labels = case(0)
    classes = len(np.unique(labels))
    clusters = kmeans(Vectors(x), 4 * classes, seed=2)
    expected = normalized_mutual_info_score(labels, clusters, average_method="geometric")
    scores = evaluate(x, labels, ["nmi+"], over_clustering=4, nmi_average="geometric", seed=2)
    assert scores["nmi+"] == pytest.approx(expected)


def test_modes_of_a_class_are_not_punished():
    rng = np.random.default_rng(0)
    modes = np.repeat(np.arange(8), 20)
    x = (np.eye(8)[modes] + 0.01 * rng.normal(size=(160, 8))).astype(np.float32)
    scores = evaluate(x, modes % 2, ["nmi", "nmi+"], over_clustering=4)
    assert scores["nmi"] < 0.3
    assert scores["nmi+"] == pytest.approx(2 * np.log(2) / (np.log(2) + np.log(8)), abs=1e-6)
