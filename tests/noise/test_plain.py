"""Uniform noise, the topline, and labels as given."""

import numpy as np
import pytest

from dml import noise
from dml.config import NoiseSection
from dml.noise import Given


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.333, 0.5, 0.9])
@pytest.mark.parametrize(("n", "classes"), [(7, 2), (100, 3), (1001, 57)])
def test_exactly_the_rate_and_never_the_true_label(rate, n, classes):
    labels = np.arange(n) % classes
    observed, flipped = noise.build("uniform", rate=rate).corrupt(labels, seed=0)
    assert flipped.sum() == round(rate * n)
    assert (observed[flipped] != labels[flipped]).all()
    assert (observed[~flipped] == labels[~flipped]).all()


def test_the_other_classes_are_as_likely():
    labels = np.zeros(60_000, dtype=np.int64)
    labels[:6] = np.arange(6)
    observed, flipped = noise.build("uniform", rate=0.5).corrupt(labels, seed=0)
    counts = np.bincount(observed[flipped & (labels == 0)], minlength=6)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 6000).max() < 5 * np.sqrt(6000)


def test_a_higher_rate_flips_more_of_the_same():
    labels = np.arange(500) % 10
    low, high = (noise.build("uniform", rate=rate).corrupt(labels, seed=4).flipped for rate in (0.2, 0.6))
    assert (high | ~low).all()


def test_leaves_out_what_uniform_flips():
    labels = np.arange(1001) % 7
    subset = noise.build("subset", rate=0.3).corrupt(labels, seed=2)
    uniform = noise.build("uniform", rate=0.3).corrupt(labels, seed=2)
    assert ((subset.observed < 0) == uniform.flipped).all()


LABELS = np.array([0, 0, 1, 1, 2, 2, 7, 7])
GIVEN = np.array([0, 1, 1, 1, 2, 0, -1, 7])


def test_what_was_given_is_observed():
    record = Given(rate=2 / 7).corrupt(LABELS, seed=3, given=GIVEN)
    assert record.observed.tolist() == GIVEN.tolist()
    assert record.flipped.nonzero()[0].tolist() == [1, 5]


def test_a_study_states_one_rate():
    assert NoiseSection(name="given", rates=[0.4]).by_given
    assert not NoiseSection(name="uniform", rates=[0.1, 0.4]).by_given
    with pytest.raises(ValueError, match="its rate is counted, so there is one"):
        NoiseSection(name="given", rates=[0.1, 0.4])
