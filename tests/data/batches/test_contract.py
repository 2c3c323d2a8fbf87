"""A contract for all samplers."""

import json

import numpy as np
import pytest
from sampling import build, make_labels, take

from dml import discovery
from dml.data import batches

SAMPLERS = discovery.names("dml.data.batches")


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", SAMPLERS)
class TestContract:
    def test_batches_are_positions_of_usable_samples(self, name):
        labels = make_labels()
        for batch in take(build(name, labels), 60):
            assert batch.dtype == np.int64
            assert batch.shape == (12,)
            assert (labels[batch] >= 0).all()

    def test_is_reproducible(self, name):
        labels = make_labels()
        assert equal(take(build(name, labels), 40), take(build(name, labels), 40))
        assert not equal(take(build(name, labels), 5), take(build(name, labels, seed=1), 5))

    @pytest.mark.parametrize("done", [0, 1, 2, 7, 40])
    def test_resumes_exactly_in_mid_epoch(self, name, done):
        labels = make_labels()
        whole = build(name, labels)
        take(whole, done)
        state = json.loads(json.dumps(whole.state_dict()))
        rest = take(whole, 30)
        resumed = build(name, labels)
        take(resumed, 3)
        resumed.load_state_dict(state)
        assert equal(take(resumed, 30), rest)
        assert len(json.dumps(state)) < 100

    def test_another_samplers_state_is_an_error(self, name):
        labels = make_labels()
        state = build(name, labels).state_dict()
        for other in (build(name, labels, seed=1), build(name, make_labels(1)), build(name, labels, per_class=5)):
            with pytest.raises(ValueError, match="another seed"):
                other.load_state_dict(state)

    def test_every_sample_is_drawn_eventually(self, name):
        labels = make_labels()
        drawn = np.concatenate(take(build(name, labels), 300))
        assert set(drawn) == set(np.flatnonzero(labels >= 0))

    def test_bounded_batches_have_at_most_per_class_samples_of_a_class(self, name):
        labels = make_labels()
        most = max(np.bincount(labels[batch]).max() for batch in take(build(name, labels), 200))
        assert (most <= 3) == batches.find(name).bounded
