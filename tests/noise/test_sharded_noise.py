import numpy as np
import pytest
from scipy import stats

from dml.noise._sharded import corrupt_shard, flips_of_shards
from dml.noise.uniform import Uniform

pytestmark = pytest.mark.slow


def corrupted(labels, rate, seed, size):
    shards = [labels[start : start + size] for start in range(0, len(labels), size)]
    flips, classes = flips_of_shards(np.array([len(s) for s in shards]), rate, seed), np.unique(labels)
    found = (corrupt_shard(s, classes, f, seed, n) for n, (s, f) in enumerate(zip(shards, flips, strict=True)))
    return np.concatenate([one.observed for one in found])


def test_exactly_as_many_labels_flip_as_by_uniform_noise():
    labels = np.sort(np.random.default_rng(0).integers(20, size=1003))
    for seed in range(5):
        observed = corrupted(labels, 0.3, seed, 90)
        assert (observed != labels).sum() == Uniform(0.3).corrupt(labels, seed).flipped.sum() == 301
    assert (corrupted(labels, 0.3, 1, 90) == corrupted(labels, 0.3, 1, 90)).all()
    assert (corrupted(labels, 0.3, 1, 90) != corrupted(labels, 0.3, 2, 90)).any()


def test_places_and_classes_are_distributed_as_those_of_uniform_noise():
    labels = np.sort(np.arange(60) % 6)
    hit, became = np.zeros(60), np.zeros((6, 6))
    per_shard = []
    for seed in range(1500):
        observed = corrupted(labels, 0.25, seed, 13)
        hit += observed != labels
        np.add.at(became, (labels, observed), 1)
        per_shard.append((observed != labels)[:13].sum())
    assert stats.chisquare(hit).pvalue > 1e-3
    off = became[~np.eye(6, dtype=bool)]
    assert stats.chisquare(off).pvalue > 1e-3
    expected = stats.hypergeom(60, 15, 13)
    assert np.mean(per_shard) == pytest.approx(expected.mean(), abs=0.15)
    assert np.var(per_shard) == pytest.approx(expected.var(), rel=0.15)


def test_what_cannot_flip_is_refused():
    with pytest.raises(ValueError, match="shard 3 has labels that are not in the list of classes"):
        corrupt_shard(np.array([0, 5]), np.array([0, 1]), 1, 0, 3)
    with pytest.raises(ValueError, match="at least 2 classes"):
        corrupt_shard(np.zeros(4, int), np.array([0]), 1, 0, 0)
    with pytest.raises(ValueError, match="expected 0 <= rate < 1"):
        flips_of_shards(np.array([4]), 1.5, 0)
