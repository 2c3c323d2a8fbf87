"""Similarity noise: only the nearest classes are confused."""

import numpy as np
import pytest

from dml import noise
from dml.noise import similarity as module

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
    observed, flipped = noise.build("similarity", rate=0.5, neighbours=99).corrupt(
        np.repeat(LABELS, 20), 0, similarity=np.zeros((6, 6))
    )
    counts = np.bincount(observed[flipped], minlength=6)
    assert np.abs(counts - 1000).max() < 150


@pytest.mark.parametrize("count", [1, 3, 39])
def test_the_nearest_are_found_in_blocks_and_of_ties_the_first(count, monkeypatch):
    table = np.random.default_rng(0).integers(0, 4, (40, 40)).astype(float)
    others = np.where(np.eye(40, dtype=bool), -np.inf, table)
    monkeypatch.setattr(module, "BLOCK", 7)
    nearest = module._nearest(lambda rows: table[rows], 40, count)
    assert (nearest == np.argsort(-others, axis=1, kind="stable")[:, :count]).all()


def test_what_cannot_be():
    with pytest.raises(ValueError, match="needs features"):
        noise.build("similarity", rate=0.1).corrupt(LABELS, 0)
    with pytest.raises(ValueError, match="C above the largest label 5, got"):
        noise.build("similarity", rate=0.1).corrupt(LABELS, 0, similarity=np.eye(5))
