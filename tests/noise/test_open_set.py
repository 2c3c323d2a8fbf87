"""Open-set noise: strangers among the samples, right labels otherwise."""

import numpy as np
import pytest

from dml import noise


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
