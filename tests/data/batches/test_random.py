"""Random batches: every sample once per epoch."""

import numpy as np
from sampling import build, take


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
