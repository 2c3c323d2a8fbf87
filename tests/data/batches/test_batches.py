"""Batches of each kind: balanced, hierarchical and random."""

import numpy as np
import pytest
from sampling import build, take

from dml.data import batches


@pytest.mark.parametrize("name", ["balanced", "hierarchical"])
class TestClasses:
    def test_p_classes_m_samples(self, name):
        labels = np.arange(120) % 10
        for batch in take(build(name, labels), 50):
            classes, counts = np.unique(labels[batch], return_counts=True)
            assert len(classes) == 4
            assert (counts == 3).all()
            assert len(set(batch)) == 12

    def test_every_class_once_an_epoch_and_every_sample_once_a_pass(self, name):
        labels = np.arange(120) % 12  # 12 classes of 10: an epoch is 3 batches, a pass 4 epochs (the last filled up)
        sampler = build(name, labels)
        for _ in range(3):
            seen = np.zeros(120, dtype=int)
            for _ in range(4):
                epoch = np.concatenate(take(sampler, 3))
                assert (np.bincount(labels[epoch], minlength=12) == 3).all()
                seen += np.bincount(epoch, minlength=120)
            assert seen.min() == 1
            assert seen.max() == 2

    def test_every_class_in_each_epoch_where_p_does_not_divide_k(self, name):
        labels = np.arange(130) % 13
        sampler = build(name, labels)
        for _ in range(20):
            visits = np.unique(labels[np.concatenate(take(sampler, 4))], return_counts=True)[1] / 3
            assert len(visits) == 13
            assert visits.max() <= 2

    def test_a_small_class_gives_all_it_has_and_is_drawn_again(self, name):
        labels = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3])
        for batch in take(build(name, labels, classes=4, per_class=5), 20):
            for label, size in enumerate((1, 2, 3, 5)):
                drawn = batch[labels[batch] == label]
                assert len(drawn) == 5
                counts = np.unique(drawn, return_counts=True)[1]
                assert len(counts) == size
                assert counts.max() - counts.min() <= 1

    def test_too_few_classes(self, name):
        labels = np.array([0, 0, 1, 1, 2, -1])
        with pytest.raises(ValueError, match="4 classes per batch, but the 5 usable labels have only 3"):
            build(name, labels)

    def test_samples_of_a_class_meet_in_many_ways(self, name):
        labels = np.arange(40) % 4
        met = {tuple(sorted(b[labels[b] == 0])) for b in take(build(name, labels, per_class=2), 400)}
        assert len(met) == 45  # all pairs of 10


def test_hierarchical_runs_are_of_one_coarse_class():
    labels = np.arange(400) % 40  # fine 0-39, coarse 0-9, four fine each
    for batch in take(build("hierarchical", labels, classes=8, coarse_classes=2), 50):
        coarse = labels[batch].reshape(8, 3)[:, 0] // 4
        assert len(set(coarse[:4])) == len(set(coarse[4:])) == 1
        assert len(set(labels[batch])) == 8


def test_hierarchical_takes_the_most_frequent_coarse_class_of_noisy_labels():
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
    coarse = np.array([5, 5, 6, 5, 6, 5, 6, 6, 6, 5])  # classes 0, 1: 5; class 2: 6; class 3 ties: the lower, 5
    sampler = batches.build("hierarchical", labels=labels, classes=3, per_class=1, coarse=coarse, coarse_classes=1)
    first_of_each_epoch = take(sampler, 40)[::2]  # a full run of three, then the short one, filled up
    assert {frozenset(labels[batch]) for batch in first_of_each_epoch} == {frozenset({0, 1, 3})}


def test_random_draws_every_sample_once_an_epoch():
    labels = np.arange(48) % 5
    sampler = build("random", labels)
    for _ in range(3):
        assert sorted(np.concatenate(take(sampler, 4))) == list(range(48))


def test_random_fills_its_last_batch_with_other_samples():
    sampler = build("random", np.zeros(50, dtype=np.int64))
    epoch = np.concatenate(take(sampler, 5))
    assert set(epoch) == set(range(50))
    assert len(set(epoch[-12:])) == 12


def test_random_repeats_samples_where_there_are_fewer_than_a_batch():
    batch = next(build("random", np.array([0, 1, -1, 1, 2])))
    assert sorted(np.unique(batch, return_counts=True)[1]) == [3, 3, 3, 3]
