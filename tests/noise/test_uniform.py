"""Uniform noise: the exact rate, never the true label, and the pair noise that the formulas say."""

import numpy as np
import pytest

from dml import noise
from dml.theory.noise import pair_noise


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


def test_samples_are_as_likely():
    labels = np.arange(50) % 5
    hits = sum(noise.build("uniform", rate=0.2).corrupt(labels, seed=s).flipped.astype(int) for s in range(2000))
    assert np.abs(hits - 400).max() < 5 * np.sqrt(400)


def test_a_higher_rate_flips_more_of_the_same():
    labels = np.arange(500) % 10
    low, high = (noise.build("uniform", rate=rate).corrupt(labels, seed=4).flipped for rate in (0.2, 0.6))
    assert (high | ~low).all()


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
def test_the_measured_pair_noise_agrees_with_the_formulas(classes, rate):
    """q+ is the counted `2p(1-p) + p^2 (1 - 1/(K-1))`; the one that the paper prints is off."""
    labels = np.arange(2000 * classes) % classes
    observed = noise.build("uniform", rate=rate).corrupt(labels, seed=1).observed
    table = np.zeros((classes, classes))
    np.add.at(table, (labels, observed), 1)
    together = (table**2).sum() - len(labels)  # ordered pairs of one true class that are still together
    positives = len(labels) * (2000 - 1)
    negatives = len(labels) * (len(labels) - 2000)
    arrived = (table.sum(0) ** 2).sum() - (table**2).sum()  # ordered pairs of two true classes with one observed label
    measured_plus, measured_minus = 1 - together / positives, arrived / negatives
    assert measured_plus == pytest.approx(pair_noise.positive_to_negative(rate, classes), abs=0.01)
    assert measured_minus == pytest.approx(pair_noise.negative_to_positive(rate, classes), abs=0.01)
    printed = pair_noise.positive_to_negative(rate, classes, printed=True)
    if rate >= 0.3:
        gap = rate**2 / (classes - 1)
        assert measured_plus - printed == pytest.approx(gap, abs=0.01)
