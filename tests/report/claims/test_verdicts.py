"""When a claim is confirmed, refuted or undecided, on results with a known truth."""

import numpy as np
import pytest
from scipy import stats

from dml.papers import paper_claims
from dml.report.verdicts import Claim, Comparison, Expected, Verdict, combined, corrected, decided, effect, head, worst

pytestmark = pytest.mark.slow

ABOVE = Expected()
UP, NONE, DOWN = [4.0, 5.0, 6.0, 5.5, 4.5], [1.0, -1.0, 0.5, -0.5, 0.1], [-4.0, -5.0, -6.0, -5.5, -4.5]


@pytest.mark.parametrize(
    ("gains", "changes", "word"),
    [
        (UP, {}, "confirmed"),
        (DOWN, {}, "refuted"),
        (NONE, {}, "undecided"),
        (UP, {"below": 0.0}, "refuted"),
        (DOWN, {"below": 0.0}, "confirmed"),
        (UP, {"above": 3.0}, "confirmed"),
        (UP, {"above": 5.0}, "undecided"),
        (UP, {"above": 8.0}, "refuted"),  # higher, but by less than claimed
        (DOWN, {"below": -3.0}, "confirmed"),
        (NONE, {"below": 3.0}, "confirmed"),  # nothing above 3 points is gained
        (DOWN, {"below": 3.0}, "confirmed"),  # a loss is no gain
        (UP, {"below": 3.0}, "refuted"),
        (DOWN, {"above": -9.0}, "confirmed"),  # not more than 9 points are lost
        (NONE, {"within": 3.0}, "confirmed"),
        (NONE, {"within": 0.5}, "undecided"),
        (UP, {"within": 3.0}, "refuted"),
        (DOWN, {"within": 3.0}, "refuted"),
        (UP, {"reach": 40.0}, "confirmed"),
        (UP, {"reach": 95.0}, "not tested"),
    ],
)
def test_each_verdict_is_reached(verdicts, gains, changes, word, claim):
    (verdict,) = verdicts([claim(**changes)], gains)
    assert verdict.word == word


def test_one_seed_decides_nothing(verdicts, claim):
    (verdict,) = verdicts([claim()], UP, seeds=[0])
    assert verdict.word == "undecided"
    assert verdict.effects[0].mean == pytest.approx(4.0)
    assert np.isnan(verdict.p)


def test_each_part_must_hold(verdicts, claim):
    def alter(frame):
        both = (frame["loss"] == "margin") & (frame["positives"] == "easy")
        frame.loc[both, "test/fine/recall@1"] -= 0.05
        return frame

    pooled, each = verdicts([claim(), claim(each=["loss"])], UP, alter, losses=("triplet", "margin"))
    assert pooled.word == "confirmed"
    assert [(e.label, round(e.mean, 6)) for e in each.effects] == [("triplet", 5.0), ("margin", 0.0)]
    assert each.word == "undecided"


def test_a_verdict_that_another_look_does_not_agree_with_decides_nothing(claim, verdicts):
    refuted, disputed = verdicts([claim(), claim(disputed="+3 with a larger network")], DOWN)
    assert (refuted.word, disputed.word) == ("refuted", "undecided")
    assert disputed.reason == "refuted here, but not elsewhere: +3 with a larger network"
    assert disputed.p == refuted.p
    (softened,) = verdicts([claim(disputed="-3 with a larger network")], UP)
    assert (softened.word, softened.reason) == (
        "undecided",
        "confirmed here, but not elsewhere: -3 with a larger network",
    )


def test_a_claim_is_refuted_by_one_of_its_parts(verdicts, claim):
    def alter(frame):
        both = (frame["loss"] == "margin") & (frame["positives"] == "easy")
        frame.loc[both, "test/fine/recall@1"] -= 0.1
        return frame

    (verdict,) = verdicts([claim(each=["loss"])], UP, alter, losses=("triplet", "margin"))
    assert verdict.word == "refuted"
    assert verdict.p == pytest.approx(2 * stats.ttest_1samp(DOWN, 0.0).pvalue)


def of(values, paper="mine", **more):
    """A verdict before it is judged."""
    effects = () if values is None else (effect(values, ABOVE, {}),)
    return Verdict(Claim(paper=paper), Comparison(effects=effects), "s", "S", **more)


def test_holms_correction_is_over_the_claims_of_one_paper():
    weak = [2.0, 1.0, 3.0, 0.0, 2.5]
    p = stats.ttest_1samp(weak, 0.0).pvalue
    assert 0.0125 < p < 0.05
    (lonely,) = corrected([of(weak)])
    assert (lonely.word, lonely.p, lonely.fragile) == ("confirmed", pytest.approx(p), 2 * p >= 0.05)
    crowd = corrected([*[of(weak)] * 4, of(weak, "another")])
    assert [v.word for v in crowd] == ["undecided"] * 4 + ["confirmed"]
    assert crowd[0].p == pytest.approx(4 * p)
    assert [v.word for v in corrected([of(weak), of(weak, stand_in=True)])] == ["confirmed"] * 2  # two families
    flagged = of(weak, flags=("not tuned",))
    assert [v.word for v in corrected([of(weak), flagged])] == ["confirmed", "not tested"]
    assert corrected([of(weak), of(None, reason="not run")])[0].p == pytest.approx(p)


def test_a_true_null_is_rarely_confirmed_or_refuted():
    draws = np.random.default_rng(0).normal(0, 1, (2000, 5))
    for expected in (ABOVE, Expected("within", 1e-9)):
        words = [decided(*combined([effect(row, expected, {})]))[0] for row in draws]
        assert np.mean([w == "confirmed" for w in words]) < 0.06
        assert np.mean([w == "refuted" for w in words]) < 0.06


def test_equivalence_is_two_one_sided_tests():
    x = np.array([0.4, -0.2, 0.3, 0.1, 0.6])
    e = effect(x, Expected("within", 1.0), {})
    lower = stats.ttest_1samp(x, -1.0, alternative="greater").pvalue
    upper = stats.ttest_1samp(x, 1.0, alternative="less").pvalue
    assert e.confirming == pytest.approx(max(lower, upper))
    assert e.refuting == pytest.approx(min(1.0, 2 * (1 - max(lower, upper))))


def test_the_head_of_a_claim_with_several_studies():
    both = paper_claims()["eps-table-6"]
    assert worst(["confirmed", "not tested", "undecided"]) == "undecided"
    assert worst([]) == "not tested"

    def of(word, *sources, **more):
        return Verdict(Claim(), Comparison(), "s", "S", word, sources=sources, **more)

    assert head(both, []) == "needs data"
    assert head(both, [of("confirmed", "digits", stand_in=True)]) == "needs data"
    assert head(both, [of("confirmed", "cub200")]) == "needs data"
    assert head(both, [of("refuted", "cub200")]) == "refuted"
    assert head(both, [of("confirmed", "cub200"), of("confirmed", "cars196")]) == "confirmed"
    assert head(paper_claims()["eps-table-1-test"], []) == "not tested"
    part = of("not tested", "mnist", flags=("not tuned",))
    assert head(paper_claims()["eps-table-1-test"], [of("confirmed", "mnist"), part]) == "undecided"
    three = paper_claims()["noise-figures-1d-2d-3d"]
    assert three.least_sources == 3
    assert head(three, [of("confirmed", "mnist"), of("confirmed", "omniglot")]) == "undecided"
    assert head(three, [of("confirmed", source) for source in ("mnist", "omniglot", "cifar100")]) == "confirmed"
    assert head(three, [of("confirmed", "mnist"), of("refuted", "omniglot")]) == "refuted"
