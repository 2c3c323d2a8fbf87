"""Intervals, paired comparisons, many comparisons; against scipy and by simulation."""

import numpy as np
import pytest
from scipy import stats

from dml.statistics import compare, detectable, holm, mean_variance, one_sided_t, paired_t, power, summary


def test_summary_against_scipy():
    x = np.random.default_rng(0).normal(size=8)
    s = summary(x)
    low, high = stats.t.interval(0.95, 7, loc=x.mean(), scale=stats.sem(x))
    assert s == pytest.approx((x.mean(), x.std(ddof=1), low, high, 8))


def test_an_interval_ends_at_the_bounds_of_the_score():
    """Three seeds near the top: Student's t alone says 0.848 to 1.022."""
    values = [0.96, 0.90, 0.945]
    free, bounded = summary(values), summary(values, bounds=(0, 1))
    assert free.high > 1
    assert bounded == (free.mean, free.std, free.low, 1, 3)
    assert summary([0.0, 0.1], bounds=(0, 1)).low == 0
    inside = [0.4, 0.5, 0.6]
    assert summary(inside, bounds=(0, 1)) == summary(inside)


def test_folds_have_the_corrected_variance():
    """Five folds of 1 to 5: s^2 is 2.5, so the mean's variance is 2.5 (1 / 5 + 1 / 4) = 1.125; t of 4 is 2.776."""
    values, overlap = np.arange(1.0, 6.0), 1 / 4
    assert mean_variance(values, overlap) == pytest.approx(1.125)
    found = summary(values, overlap=overlap)
    assert (found.low, found.high) == pytest.approx((3 - 2.7764 * 1.125**0.5, 3 + 2.7764 * 1.125**0.5), abs=1e-3)
    assert found.std == pytest.approx(2.5**0.5), "the spread stays that of the folds"
    p = 2 * stats.t.sf(3 / 1.125**0.5, 4)
    assert paired_t(values, overlap) == pytest.approx(p)
    assert 2 * one_sided_t(values, overlap=overlap) == pytest.approx(p)
    with pytest.raises(ValueError, match=r"at least 0, got -0\.1"):
        summary(values, overlap=-0.1)


def test_folds_that_share_training_classes_are_covered_as_often_as_they_say():
    """The score of a fold is the mean effect of the 40 classes that train plus that of the 10 that are tested."""
    draw, folds, size, runs = np.random.default_rng(0), 5, 10, 4000
    trained, tested = (draw.normal(0, s, (runs, folds, size)).mean(axis=2) for s in (1.0, 0.83))
    scores = (trained.sum(axis=1, keepdims=True) - trained) / (folds - 1) + tested
    covered = {
        overlap: np.mean([s.low <= 0 <= s.high for s in (summary(x, overlap=overlap) for x in scores)])
        for overlap in (0.0, 1 / (folds - 1))
    }
    assert covered[0.0] < 0.88
    assert 0.94 <= covered[0.25] <= 0.96


def test_compare_over_seeds_against_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=8), rng.normal(0.5, size=8)
    c = compare(a, b)
    assert c.difference == pytest.approx((a - b).mean())
    assert c.p_t == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert c.low < c.difference < c.high


def test_compare_over_queries():
    rng = np.random.default_rng(0)
    a = (rng.random(3000) < 0.60).astype(float)
    b = np.where(rng.random(3000) < 0.1, rng.random(3000) < 0.5, a)
    b[:50] = np.nan
    better = compare(a, np.where(rng.random(3000) < 0.05, 0.0, a))
    same = compare(a, b)
    assert better.p < 0.001 < better.low
    assert same.n == 2950
    assert better.p == pytest.approx(better.p_t, abs=1e-3)
    half = 1.96 * np.nanstd(a - b) / 2950**0.5
    assert (same.low, same.high) == pytest.approx((same.difference - half, same.difference + half), rel=0.05)
    assert compare(np.ones(30), np.zeros(30), resamples=99).p == 0.01  # never 0


def test_sign_flips_against_scipy():
    rng = np.random.default_rng(0)
    for n in (2, 6, 15):  # all patterns, and a sample of them
        d = rng.normal(0.4, size=n)
        reference = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert compare(d, np.zeros(n)).p == pytest.approx(reference.pvalue, abs=0 if n < 14 else 0.02)


def test_no_difference_and_the_same_difference():
    same = compare([0.5, 0.6], [0.5, 0.6])
    assert (same.difference, same.p, same.p_t) == (0, 1, 1)
    assert compare([1.0, 1.0], [0.0, 0.0]).p_t == 0.5
    assert compare([88.1, 5.4, 70.3], [87.8, 5.1, 70.0]).p_t == 0.25  # the same but for rounding
    one = compare([1.0], [0.5])
    assert (one.difference, one.n) == (0.5, 1)
    assert np.isnan([one.low, one.high, one.p, one.p_t]).all()


def test_holm():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1, 1])
    assert len(holm([])) == 0
    with pytest.raises(ValueError, match=r"0\.\.1"):
        holm([1.2])


def test_equal_values_are_a_sign_test():
    assert one_sided_t([2.0] * 5) == 1 / 32
    assert one_sided_t([2.0] * 5, 2.0) == one_sided_t([2.0] * 5, 3.0) == 1.0
    assert one_sided_t([50.2 - 50.1, 60.2 - 60.1, 40.2 - 40.1]) == 1 / 8  # equal but for rounding


@pytest.mark.parametrize(
    ("difference", "n", "level"), [(1, 3, 0.05), (2, 5, 0.01), (0.6, 30, 0.05), (2, 3, 0.005), (0, 6, 0.05)]
)
def test_power_is_the_noncentral_t(difference, n, level):
    bound, shift = stats.t.ppf(1 - level / 2, n - 1), 2 * difference * n**0.5
    expected = stats.nct.sf(bound, n - 1, shift) + stats.nct.cdf(-bound, n - 1, shift)
    assert power(difference, 0.5, n, level) == pytest.approx(expected, abs=1e-6)


def test_what_is_detectable_is_found_in_four_of_five_studies():
    for n, level in ((2, 0.05), (3, 0.05 / 80), (30, 0.05)):
        assert power(detectable(1.5, n, level), 1.5, n, level) == pytest.approx(0.8, abs=1e-6)
    assert detectable(1.5, 1) == np.inf
    assert power(100.0, 1.0, 1) == 0.0
