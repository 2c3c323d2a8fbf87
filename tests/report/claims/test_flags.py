"""Comparisons that decide nothing, on results with a known truth."""

import json
from dataclasses import replace

import pytest
from synthetic import KEY, of_study

from dml.report.analysis.flags import NOT_KNOWN, flags
from dml.report.claims import paired

UP, EQUAL = [4.0, 5.0, 6.0, 5.5, 4.5], [1.0, -1.0, 0.5, -0.5, 0.1]


def _curve(*scores):
    return json.dumps([[10 * i, {"test/fine/recall@1": score}] for i, score in enumerate(scores)])


@pytest.mark.parametrize(("gains", "word"), [(UP, "confirmed"), (EQUAL, "undecided")])
def test_a_comparison_without_flags_is_decided_by_its_effect(verdicts, claim, gains, word):
    (verdict,) = verdicts([claim()], gains, lambda frame: frame.assign(curve=_curve(0.4, 0.5, 0.505)))
    assert (verdict.word, verdict.flags, NOT_KNOWN in verdict.unknown) == (word, (), False)


def test_better_only_untuned_is_not_tested(verdicts, claim):
    (verdict,) = verdicts([claim(fixed="")], UP)
    assert (verdict.word, verdict.flags) == ("not tested", ("rate not tuned",))
    assert verdict.reason == "not tested: rate not tuned"
    assert verdict.effects[0].mean == pytest.approx(5.0)  # shown all the same


def test_still_rising_is_not_tested(verdicts, claim):
    (verdict,) = verdicts([claim()], UP, lambda frame: frame.assign(curve=_curve(0.3, 0.4, 0.5)))
    assert (verdict.word, verdict.flags) == ("not tested", ("still rising",))


@pytest.mark.parametrize("share", [True, False])
def test_shares_of_a_reference_that_still_rises_are_not_tested(verdicts, claim, share):
    """The claim compares cells at 40% noise, in percent of their clean counterparts."""

    def alter(frame):
        frame.loc[frame["rate"] == 0.0, "curve"] = _curve(0.3, 0.4, 0.5)
        return frame

    (verdict,) = verdicts([claim(share=share, where={"rate": 0.4})], UP, alter, rates=(0.0, 0.4))
    assert verdict.flags == (("still rising",) if share else ())


@pytest.fixture
def beside(synthetic, loaded):
    """Scores without training -> results whose trials all score 50 percent, beside these."""

    def make(scores):
        results = loaded(synthetic.small())
        own = {name: {KEY: score} for name, score in scores.items()}
        frame = results.trials.assign(**{KEY: 0.5}, curve="[]")
        return replace(results, trials=frame, summary={"untrained": {"digits": own}})

    return make


@pytest.mark.parametrize(("pixels", "below"), [(0.4, False), (0.99, True)])
def test_below_the_baseline(beside, pixels, below):
    results = beside({"pixels": pixels})
    found = flags(results, results.cells.values(), fixed=True).reasons
    assert found == (("below the baseline (R@1, test classes: 50.0, pixels 99.0)",) if below else ())


@pytest.mark.parametrize("score", ["test/fine/nmi", "fine/nmi"])
@pytest.mark.parametrize(("ami", "decided"), [(-0.05, True), (0.05, False)])
def test_ami_decides_where_it_contradicts_nmi(synthetic, loaded, ami, decided, score):
    results = loaded(synthetic.small())
    results = of_study(results, evaluation=replace(results.study.evaluation, metrics=["recall@1", "nmi", "ami"]))
    easy = results.trials["positives"] == "easy"
    frame = results.trials.assign(**{"test/fine/nmi": 0.5 + 0.1 * easy, "test/fine/ami": 0.3 + ami * easy})
    found = paired(replace(results, trials=frame), {"positives": "easy"}, {"positives": "random"}, score)
    assert bool(found.reason) == decided
    assert found.effects[0].mean == pytest.approx(-5.0 if decided else 10.0)
