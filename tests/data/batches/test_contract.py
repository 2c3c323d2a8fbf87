"""A contract for all samplers."""

import json
import tracemalloc

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

    def test_memory_does_not_grow(self, name):
        sampler = build(name, make_labels(n=500))
        take(sampler, 100)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(500):
            next(sampler)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 20_000

    def test_labels_it_cannot_use_are_errors(self, name):
        with pytest.raises(ValueError, match="none of the 3 labels"):
            build(name, np.full(3, -1))
        with pytest.raises(ValueError, match="expected integer labels"):
            batches.build(name, labels=np.zeros(4), classes=1, per_class=1, coarse=np.zeros(4, dtype=int))
        with pytest.raises(ValueError, match="got -2"):
            build(name, np.array([0, -2]))
        with pytest.raises(ValueError, match="at least 1 class x 1 sample, got 0 x 3"):
            build(name, make_labels(), classes=0)

    def test_bounded_batches_have_at_most_per_class_samples_of_a_class(self, name):
        labels = make_labels()
        most = max(np.bincount(labels[batch]).max() for batch in take(build(name, labels), 200))
        assert (most <= 3) == batches.find(name).bounded

    def test_coarse_labels_are_needed_as_stated(self, name):
        labels = make_labels()
        if batches.find(name).needs_coarse:
            with pytest.raises((TypeError, ValueError), match="coarse"):
                batches.build(name, labels=labels, classes=4, per_class=3)
        else:
            next(batches.build(name, labels=labels, classes=4, per_class=3))


def test_unknown_names_and_settings():
    with pytest.raises(ValueError, match=r"did you mean 'balanced'.*Choices: balanced, hierarchical, random"):
        build("balancd", make_labels())
    with pytest.raises(ValueError, match="unknown setting 'coarse_clases'; did you mean 'coarse_classes'"):
        build("hierarchical", make_labels(), coarse_clases=2)
