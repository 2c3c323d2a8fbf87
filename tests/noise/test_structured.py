"""Noise with structure: open-set, by similarity, and by small clusters."""

import numpy as np
import pytest

from dml import noise
from dml.noise import structured as module


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_classes_are_inside_or_outside(rate, seed):
    labels = np.random.default_rng(seed).integers(0, 20, 2000)
    observed, flipped = noise.build("open_set", rate=rate).corrupt(labels, seed)
    stays = observed >= 0
    assert abs(flipped.sum() - rate * stays.sum()) <= 1
    inside = set(observed[stays])
    assert set(labels[flipped]).isdisjoint(inside)
    assert set(labels[~stays]).isdisjoint(inside)
    own = np.isin(labels, list(inside))
    assert (observed[own] == labels[own]).all()


def test_strangers_spread_over_the_classes_inside():
    labels = np.arange(30_000) % 30
    observed, flipped = noise.build("open_set", rate=0.5).corrupt(labels, 0)
    counts = np.unique(observed[flipped], return_counts=True)[1]
    assert counts.max() < 1.3 * counts.min()


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(10))
def test_no_class_outside_is_needless_and_few_samples_are_left_out(rate, seed):
    sizes = np.random.default_rng(seed).integers(1, 200, 30)
    labels = np.repeat(np.arange(30), sizes)
    observed, flipped = noise.build("open_set", rate=rate).corrupt(labels, seed)
    inside = np.unique(observed[~flipped & (observed >= 0)])
    outside = np.setdiff1d(labels, inside)
    assert abs(flipped.sum() - rate * (observed >= 0).sum()) <= 1
    assert (observed < 0).sum() < sizes[outside].min() / (1 - rate) + 1
    for number in outside:
        fewer = sizes[outside].sum() - sizes[number]
        assert fewer < round(rate / (1 - rate) * (len(labels) - fewer))


LABELS = np.arange(600) % 6
ANGLES = np.array([0.0, 0.1, 0.25, 2.0, 2.1, 2.25])  # two groups of three classes around the circle


def test_classes_are_confused_with_the_nearest_by_their_mean_features():
    noise_of_features = np.random.default_rng(0).normal(0, 0.05, 600)
    angles = ANGLES[LABELS] + noise_of_features
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    observed, flipped = noise.build("similarity", rate=0.4, neighbours=2).corrupt(LABELS, 0, features=features)
    assert flipped.sum() == 240
    assert (observed // 3 == LABELS // 3).all()
    nearest = noise.build("similarity", rate=0.4, neighbours=1).corrupt(LABELS, 0, features=features)
    wrong = nearest.flipped
    assert (nearest.observed[wrong] == np.array([1, 0, 1, 4, 3, 4])[LABELS[wrong]]).all()


def test_neighbours_are_as_likely_and_no_more_than_there_are():
    model = noise.build("similarity", rate=0.5, neighbours=99)
    observed, flipped = model.corrupt(np.repeat(LABELS, 20), 0, features=np.zeros((12000, 2)))
    counts = np.bincount(observed[flipped], minlength=6)
    assert np.abs(counts - 1000).max() < 150


@pytest.mark.parametrize("count", [1, 3, 39])
def test_the_nearest_are_found_in_blocks_and_of_ties_the_first(count, monkeypatch):
    means = np.random.default_rng(0).integers(0, 3, (40, 3)).astype(float)  # many ties
    table = np.where(np.eye(40, dtype=bool), -np.inf, means @ means.T)
    monkeypatch.setattr(module, "BLOCK", 7)
    nearest = module._nearest(means, count)
    assert (nearest == np.argsort(-table, axis=1, kind="stable")[:, :count]).all()


CLASSES = np.repeat(np.arange(5), 100)
CLUSTERS = np.repeat(np.arange(50), 10)  # each class has 10 clusters of 10
FEATURES = np.random.default_rng(0).normal(size=(50, 8))[CLUSTERS] + np.random.default_rng(1).normal(0, 1e-3, (500, 8))


def test_whole_clusters_get_one_other_label():
    observed, flipped = noise.build("small_cluster", rate=0.3, size=10).corrupt(CLASSES, 3, features=FEATURES)
    assert flipped.sum() == 150
    for cluster in range(50):
        members = cluster == CLUSTERS
        assert flipped[members].all() or not flipped[members].any()
        assert len(set(observed[members])) == 1


def test_the_last_cluster_is_cut_to_the_exact_rate():
    for rate in (0.001, 0.123, 0.5, 0.97):
        for features in (FEATURES, None):
            record = noise.build("small_cluster", rate=rate, size=7).corrupt(CLASSES, 0, features=features)
            assert record.flipped.sum() == round(rate * 500)


def test_without_features_a_cluster_is_a_handful_of_one_class():
    observed, flipped = noise.build("small_cluster", rate=0.02, size=10).corrupt(CLASSES, 0)
    assert flipped.sum() == 10
    assert len(set(CLASSES[flipped])) == len(set(observed[flipped])) == 1
