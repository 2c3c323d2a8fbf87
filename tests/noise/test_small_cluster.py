"""Small-cluster noise: fellows go together to one other class."""

import numpy as np

from dml import noise

LABELS = np.repeat(np.arange(5), 100)
CLUSTERS = np.repeat(np.arange(50), 10)  # each class has 10 clusters of 10
FEATURES = np.random.default_rng(0).normal(size=(50, 8))[CLUSTERS] + np.random.default_rng(1).normal(0, 1e-3, (500, 8))


def test_whole_clusters_get_one_other_label():
    observed, flipped = noise.build("small_cluster", rate=0.3, size=10).corrupt(LABELS, 3, features=FEATURES)
    assert flipped.sum() == 150
    for cluster in range(50):
        members = cluster == CLUSTERS
        assert flipped[members].all() or not flipped[members].any()
        assert len(set(observed[members])) == 1


def test_the_last_cluster_is_cut_to_the_exact_rate():
    for rate in (0.001, 0.123, 0.5, 0.97):
        for features in (FEATURES, None):
            flipped = noise.build("small_cluster", rate=rate, size=7).corrupt(LABELS, 0, features=features).flipped
            assert flipped.sum() == round(rate * 500)


def test_without_features_a_cluster_is_a_handful_of_one_class():
    observed, flipped = noise.build("small_cluster", rate=0.02, size=10).corrupt(LABELS, 0)
    assert flipped.sum() == 10
    assert len(set(LABELS[flipped])) == len(set(observed[flipped])) == 1
