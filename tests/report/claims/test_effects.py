"""What a claim measures: differences, slopes, break points and shares, paired over seeds."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dml.report.analysis.intervals import seed_interval
from dml.report.claims import NO_SEED, break_points, slope
from dml.report.verdicts import _above
from dml.statistics import Term

EASY, RANDOM = {"positives": "easy"}, {"positives": "random"}
UP = [4.0, 5.0, 6.0, 5.5, 4.5]


def test_the_effect_is_paired_over_seeds(verdicts, claim):
    (verdict,) = verdicts([claim()], UP)
    (found,) = verdict.effects
    expected = stats.ttest_1samp(UP, 0.0)
    assert found.mean == pytest.approx(5.0)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.seeds == 5
    assert verdict.p == pytest.approx(expected.pvalue)


def test_equal_seeds_are_no_proof_beside_a_search_without_spread():
    assert _above([Term(0.0, 1.0)], [Term(0.0, 5.0)], np.ones(2), 0.0) == 0.25
    assert seed_interval(pd.Series([1.0, 1.0]), [], [Term(0.0, 5.0)]).p == 0.5


def test_only_seeds_that_all_cells_finished_count(verdicts, claim):
    def alter(frame):
        return frame[~((frame["positives"] == "easy") & (frame["seed"] == 4))]

    (verdict,) = verdicts([claim()], UP, alter)
    assert verdict.effects[0].seeds == 4
    (verdict,) = verdicts([claim()], UP, lambda frame: frame[frame["positives"] == "easy"])
    assert (verdict.word, verdict.reason) == ("not tested", NO_SEED)


def test_the_effect_of_a_seed_is_the_mean_over_pairs(verdicts, claim):
    def alter(frame):
        frame.loc[(frame["rate"] == 0.4) & (frame["positives"] == "easy"), "test/fine/recall@1"] += 0.1
        return frame

    (verdict,) = verdicts([claim()], UP, alter, rates=(0.0, 0.4))
    assert verdict.effects[0].mean == pytest.approx(10.0)


def test_the_slope_of_a_difference(verdicts, claim):
    def alter(frame):
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] += frame.loc[easy, "rate"] * (0.2 + 0.001 * frame.loc[easy, "seed"])
        return frame

    def slopes(results):
        yield slope(results, "rate", EASY, RANDOM, fixed="known truth")
        yield slope(results, "rate", RANDOM, None, within=1, fixed="known truth")

    grows, constant = verdicts([claim(slopes)], UP, alter, rates=(0.0, 0.2, 0.4))
    assert grows.word == "confirmed"
    assert grows.effects[0].mean == pytest.approx(20.2)  # points per unit of the rate
    assert constant.word == "confirmed"
    assert constant.p == pytest.approx(1 / 32)  # five equal values: a sign test
    assert constant.effects[0].mean == pytest.approx(0.0)


def test_the_difference_of_two_break_points(verdicts, claim):
    """Easy positives lose 10% of the score at 20% noise; random ones never do, so they count as 40%."""

    def alter(frame):
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] = 0.8 * (1 - 0.5 * frame["rate"]) - 0.001 * frame["seed"] * frame["rate"]
        return frame

    def breaks(results):
        yield break_points(results, EASY, RANDOM, fixed="known truth")

    (verdict,) = verdicts([claim(breaks)], UP, alter, rates=(0.0, 0.1, 0.3, 0.4))
    assert verdict.word == "refuted"
    assert verdict.effects[0].mean == pytest.approx(20 - 40, abs=0.2)
