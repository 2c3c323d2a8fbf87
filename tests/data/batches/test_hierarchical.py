"""Hierarchical batches: runs of one coarse class."""

import numpy as np
import pytest
from sampling import build, take

from dml.data import batches


def test_hierarchical_runs_are_of_one_coarse_class():
    labels = np.arange(400) % 40  # fine 0-39, coarse 0-9, four fine each
    for batch in take(build("hierarchical", labels, classes=8, coarse_classes=2), 50):
        coarse = labels[batch].reshape(8, 3)[:, 0] // 4
        assert len(set(coarse[:4])) == len(set(coarse[4:])) == 1
        assert len(set(labels[batch])) == 8


def test_hierarchical_with_uneven_coarse_classes_still_visits_every_class():
    labels = np.arange(300) % 30
    coarse = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3] + [4] * 20)[labels]
    sampler = batches.build("hierarchical", labels=labels, classes=6, per_class=2, coarse=coarse, coarse_classes=3)
    for _ in range(10):
        epoch = np.concatenate(take(sampler, 5))
        assert len(set(labels[epoch])) == 30


def test_hierarchical_takes_the_most_frequent_coarse_class_of_noisy_labels():
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    coarse = np.array([5, 5, 6, 5, 6, 5, 6, 6, 6, 5])  # classes 0, 1: 5; class 2: 6; class 3 ties: the lower, 5
    sampler = batches.build("hierarchical", labels=labels, classes=3, per_class=1, coarse=coarse, coarse_classes=1)
    first_of_each_epoch = take(sampler, 40)[::2]  # a full run of three, then the short one, filled up
    assert {frozenset(labels[batch]) for batch in first_of_each_epoch} == {frozenset({0, 1, 3})}


def test_hierarchical_needs_coarse_labels():
    labels = np.array([0, 0, 1, 1, 2, 2, -1])
    for coarse, count in (([-1] * 7, 6), ([0, 0, 0, 0, 0, -1, 0], 1)):
        with pytest.raises(ValueError, match=rf"at least 0 .*, but {count} of 6 have none \(-1\).* balanced, random"):
            batches.build("hierarchical", labels=labels, classes=2, per_class=2, coarse=np.array(coarse))
    batches.build("hierarchical", labels=labels, classes=2, per_class=2, coarse=np.array([0, 0, 0, 0, 1, 1, -1]))
