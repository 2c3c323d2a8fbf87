"""The adjusted p of comparisons with the winner: its level and power by simulation, against scipy and a naive loop."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dml import statistics
from dml.report.analysis.paired import adjusted_p, against_winner

pytestmark = pytest.mark.slow

EQUAL, SEEDS = 50.0, 8


def comparisons(scores):
    """Of scores (studies, methods, seeds): who lost to the winner, and with which p, each (studies, methods - 1)."""
    order = np.argsort(-scores.mean(axis=2), axis=1)
    ranked = np.take_along_axis(scores, order[:, :, None], axis=1)
    return order[:, 1:], stats.ttest_rel(ranked[:, :1], ranked[:, 1:], axis=2).pvalue


def false_findings(correct, scores, equal):
    """The share of studies in which one of the first `equal` methods, which are the best, is called worse."""
    lost, p = comparisons(scores)
    pairs = [scores.shape[2]] * (scores.shape[1] - 1)
    return np.mean([(correct(own, pairs)[who < equal] < 0.05).any() for who, own in zip(lost, p, strict=True)])


@pytest.mark.parametrize(("methods", "seeds", "studies"), [(3, 3, 15_000), (10, 5, 2_000), (27, 8, 1_000)])
def test_equal_methods_are_called_worse_in_at_most_5_percent_of_studies(methods, seeds, studies):
    """A seed may be better for all methods: that cancels. Holm's correction over the rivals finds too much."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(studies, methods, seeds)) + 9 * rng.normal(size=(studies, 1, seeds))
    above = 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / studies)
    assert 0.03 < false_findings(adjusted_p, scores, methods) < above
    assert false_findings(lambda p, _: statistics.holm(p), scores, methods) > above


def test_it_is_the_chance_of_such_a_lead_among_equal_methods():
    """By a plain loop over studies of four equal methods."""
    rng = np.random.default_rng(2)
    studies = rng.normal(size=(4_000, 4, 5))
    lowest = np.array([min(_loop(scores)) for scores in studies])
    for p in (0.3, 0.1, 0.02):
        share = np.mean(lowest <= p)
        error = np.sqrt(share * (1 - share) / len(lowest))
        assert adjusted_p([p, 0.9, 0.9], [5, 5, 5])[0] == pytest.approx(share, abs=3.5 * error)


def _loop(scores):
    best = max(range(len(scores)), key=lambda i: scores[i].mean())
    for i in set(range(len(scores))) - {best}:
        differences = scores[best] - scores[i]
        error = np.sqrt(sum((differences - differences.mean()) ** 2) / (len(differences) - 1) / len(differences))
        yield 2 * stats.t.sf(differences.mean() / error, len(differences) - 1)


def test_each_method_is_compared_on_the_seeds_that_both_finished():
    seeds = pd.Series([80.0, 81.5, 79.0, 80.5, 82.0])
    found = against_winner({"a": seeds, "b": seeds[:3] - [9, 8, 9.5], "c": seeds - [6, 7, 5, 6, 8], "d": seeds[:1] - 3})
    p = {row["other"]: row["p adjusted"] for row in found}
    assert {row["other"]: row["seeds"] for row in found} == {"b": 3, "c": 5, "d": 1}
    assert 0 < p["c"] < p["b"] < 0.2
    assert np.isnan(p["d"])
