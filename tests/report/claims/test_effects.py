"""What a claim measures: differences, slopes, break points and shares, paired over seeds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from dml.config import ClaimSection
from dml.report.analysis.claims import NO_SEED
from dml.report.wording import measured

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


def test_each_value_that_the_first_set_lists_is_compared_with_the_second(verdicts, claim):
    def alter(frame):
        frame.loc[frame["rate"] == 0.4, "test/fine/recall@1"] -= 0.1
        return frame

    listed = {"first": EASY | {"rate": [0.2, 0.4]}, "second": RANDOM | {"rate": 0.0}}
    (verdict,) = verdicts([claim(compare=listed, each=["rate"])], UP, alter, rates=(0.0, 0.2, 0.4))
    assert [(e.label, round(e.mean, 6)) for e in verdict.effects] == [("0.2", 5.0), ("0.4", -5.0)]
    assert verdict.word == "refuted"


def test_a_slope_over_names_that_stand_for_numbers(verdicts):
    def alter(frame):
        both = (frame["loss"] == "margin") & (frame["positives"] == "easy")
        frame.loc[both, "test/fine/recall@1"] += 0.06
        return frame

    over = {"over": "loss", "values": {"triplet": 1, "margin": 3}, "first": EASY, "second": RANDOM}
    grows = ClaimSection(paper="mine", text="It grows.", slope=over)
    (verdict,) = verdicts([grows], UP, alter, losses=("triplet", "margin"))
    assert verdict.effects[0].mean == pytest.approx(3.0)  # 6 points over 2 units


def test_the_slope_of_a_difference(verdicts):
    def alter(frame):
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] += frame.loc[easy, "rate"] * (0.2 + 0.001 * frame.loc[easy, "seed"])
        return frame

    over = {"over": "rate", "first": EASY, "second": RANDOM}
    slopes = [
        ClaimSection(paper="mine", text="It grows.", slope=over),
        ClaimSection(
            paper="mine", text="It is constant.", slope={"over": "rate", "cells": RANDOM}, direction="equal", least=1
        ),
    ]
    grows, constant = verdicts(slopes, UP, alter, rates=(0.0, 0.2, 0.4))
    assert grows.word == "confirmed"
    assert grows.effects[0].mean == pytest.approx(20.2)  # points per unit of the rate
    assert constant.word == "confirmed"
    assert constant.p == pytest.approx(1 / 32)  # five equal values: a sign test
    assert constant.effects[0].mean == pytest.approx(0.0)


def test_the_difference_of_two_break_points(verdicts):
    """Easy positives lose 10% of the score at 20% noise; random ones never do, so they count as 40%."""

    def alter(frame):
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] = 0.8 * (1 - 0.5 * frame["rate"]) - 0.001 * frame["seed"] * frame["rate"]
        return frame

    (verdict,) = verdicts(
        [ClaimSection(paper="mine", text="It breaks later.", break_point={"first": EASY, "second": RANDOM})],
        UP,
        alter,
        rates=(0.0, 0.1, 0.3, 0.4),
    )
    assert verdict.word == "refuted"
    assert verdict.effects[0].mean == pytest.approx(20 - 40, abs=0.2)


def test_shares_of_the_topline(verdicts, claim):
    def alter(frame):
        frame["test/fine/recall@1"] = np.where(frame["positives"] == "easy", 0.8, 0.4) * (1 - frame["rate"])
        return frame

    (verdict,) = verdicts([claim(share=True, where={"rate": 0.4})], UP, alter, rates=(0.0, 0.4))
    assert verdict.effects[0].mean == pytest.approx(0.0)


def test_what_trials_log_is_compared_too(verdicts, claim):
    def alter(frame):
        easy = frame["positives"] == "easy"
        frame["diagnostics"] = [
            json.dumps({"active_share": 0.5 + 0.1 * e, "images_per_second": 900 - 100 * e + s, **drawn(e, s)})
            for e, s in zip(easy, frame["seed"], strict=True)
        ]
        return frame

    def drawn(easy, seed):
        far = 1000 + 10 * seed
        return {"eta_drawn": [far, 3 * far if easy else far], "eta_uniform": [far, far]}

    share, speed, skew = verdicts(
        [
            claim(score="diagnostics/active_share"),
            claim(score="diagnostics/images_per_second", direction="less", least=50),
            claim(score="diagnostics/eta"),
        ],
        UP,
        alter,
    )
    assert [v.word for v in (share, speed, skew)] == ["undecided", "undecided", "confirmed"]
    assert measured(share).startswith("+10 [+10, +10] points, p (Holm) = 0.125")  # a sign test
    assert measured(speed).startswith("\N{MINUS SIGN}100 [\N{MINUS SIGN}100, \N{MINUS SIGN}100] images per second")
    assert skew.effects[0].mean == pytest.approx(0.5, abs=0.05)  # 1.5 against 1
