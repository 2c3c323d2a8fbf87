"""Intervals over seeds and classes: against a bootstrap of whole classes, and how often they cover."""

import class_splits
import numpy as np
import pytest
from class_splits import over_classes

from dml import statistics

pytestmark = pytest.mark.slow


def test_the_variance_of_classes_is_that_of_a_bootstrap_of_whole_classes():
    scores, labels = next(class_splits.draw(np.random.default_rng(3), (1, 2, 60), (0, 5, 0, 0, 10)))
    found = over_classes(scores, labels)
    of_class = {c: scores[:, labels == c].mean(axis=0) for c in range(60)}
    draw = np.random.default_rng(0)
    means = [np.concatenate([of_class[c] for c in draw.integers(60, size=60)]).mean() for _ in range(4000)]
    of_seeds = scores.mean(axis=1).var(ddof=1) / 2
    error = (np.var(means) * 60 / 59 + of_seeds) ** 0.5
    assert found.mean == pytest.approx(scores.mean())
    assert (found.high - found.low) / 2 >= 1.96 * error * 0.97
    narrower = over_classes(scores[[0, 0]], labels)  # no spread over seeds
    alone = [np.concatenate([scores[0, labels == c] for c in draw.integers(60, size=60)]).mean() for _ in range(4000)]
    assert (narrower.high - narrower.low) / 2 == pytest.approx(2.0 * np.std(alone), rel=0.05)  # t of 59: 2.0


def test_the_interval_is_never_narrower_than_over_seeds():
    for seed in range(50):
        scores, labels = next(class_splits.draw(np.random.default_rng(seed), (1, 3, 20), (0, 1, 3, 1, 5)))
        found, seeds = over_classes(scores, labels), statistics.summary(scores.mean(axis=1))
        assert found.low <= seeds.low + 1e-9
        assert found.high >= seeds.high - 1e-9
        assert found.p >= statistics.paired_t(scores.mean(axis=1)) - 1e-12
