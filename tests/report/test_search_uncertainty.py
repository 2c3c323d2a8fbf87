"""The part of a search in an interval: against draws, Welch's test, and comparisons whose truth is known."""

from dataclasses import replace

import comparisons
import numpy as np
import pytest
from scipy import stats

from dml import statistics
from dml.report.analysis.intervals import SEARCHES, SEEDS, interval_sources, search_term, weighted_interval
from dml.statistics import Term, estimate

pytestmark = pytest.mark.slow

KEY = "test/fine/recall@1"
DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_variance_of_the_best_of_resampled_trials_is_that_of_many_draws(n):
    choosing, scores = DRAW.normal(size=n), DRAW.normal(size=n)
    drawn = DRAW.integers(n, size=(200_000, n))
    best = drawn[np.arange(len(drawn)), choosing[drawn].argmax(axis=1)]
    assert statistics.resampled_best(choosing, scores) == pytest.approx(scores[best].var(), rel=0.02, abs=1e-12)


def test_two_terms_are_welchs_test():
    x, y = DRAW.normal(1, 1, 6), DRAW.normal(0, 3, 9)
    found = estimate(x.mean() - y.mean(), *([Term(v.var(ddof=1) / len(v), len(v) - 1)] for v in (x, y)))
    welch = stats.ttest_ind(x, y, equal_var=False)
    assert found.p == pytest.approx(welch.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(welch.confidence_interval()))


def results_of(truth="equal", seeds=5, folds=0):
    study = comparisons.study_of(True, seeds, folds)
    return comparisons.drawn(study, comparisons.SCENARIOS[truth], np.random.default_rng(1))[0]


def test_where_the_part_of_a_search_is_known():
    results = results_of()
    first, second = results.cells
    term = search_term(results, first, KEY)
    assert term.freedom == comparisons.TRIALS - 1
    assert interval_sources(results) == SEARCHES
    own = weighted_interval(results, KEY, {first: 1.0, second: -1.0})
    seeds = statistics.summary(results.values(first, KEY) - results.values(second, KEY))
    assert own.mean == pytest.approx(seeds.mean)
    variance = sum(search_term(results, cell, KEY).variance for cell in (first, second)) + seeds.std**2 / seeds.n
    assert own.high - own.mean > 1.96 * variance**0.5 * 0.999
    assert own.high > seeds.high
    frame = results.trials.drop(columns="validation/fine/recall@1")
    assert search_term(replace(results, trials=frame), first, KEY) == term, "the objective in place of its score"
    late = results.trials.copy()
    tune = late["phase"] == "tune"
    late.loc[tune, "validation/fine/recall@1"] -= 0.3 * np.arange(tune.sum())  # after the best step they fell
    assert search_term(replace(results, trials=late), first, KEY) == term, "a trial counts by its objective"
    untuned = replace(results, trials=results.trials[results.trials["phase"] == "confirm"])
    assert (search_term(untuned, first, KEY), interval_sources(untuned)) == (None, SEEDS)
    assert weighted_interval(untuned, KEY, {first: 1.0, second: -1.0}) is None, "Student's t over seeds"
    assert search_term(results_of(folds=3, seeds=2), first, KEY) is None, "splits repeat searches"
