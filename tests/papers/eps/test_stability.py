"""Welch's test from means and deviations: against SciPy's, from the samples themselves."""

import numpy as np
import pytest
from scipy import stats

from papers.eps.theory import stability


def test_it_is_the_test_of_the_samples():
    generator = np.random.default_rng(0)
    a, b = generator.normal(60, 0.5, 8), generator.normal(60.4, 1.5, 8)
    expected = stats.ttest_ind(b, a, equal_var=False)
    found = stability.welch((a.mean(), a.std(ddof=1)), (b.mean(), b.std(ddof=1)), 8)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.effect == pytest.approx(b.mean() - a.mean())
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_the_published_case_of_cub():
    """CUB, triplet: t = 1.35, p = 0.20; CUB, margin, as printed: p = 0.92."""
    found = stability.welch((61.5, 0.52), (61.8, 0.35), 8)
    assert found.p == pytest.approx(0.200, abs=5e-4)
    assert found.low < 0 < found.high
    assert stability.welch((63.6, 29.8), (64.7, 0.33), 8).p == pytest.approx(0.920, abs=5e-4)
