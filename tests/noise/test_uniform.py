"""Uniform noise: the exact rate, and never the true label."""

import numpy as np
import pytest

from dml import noise


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
