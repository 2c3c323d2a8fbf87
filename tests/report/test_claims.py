"""Verdicts on claims: on results with a known truth, and as the pages show them."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dml.config import ClaimSection
from dml.config.printed import printed
from dml.report import claims_page, contents
from dml.report.analysis.claims import NO_SEED, corrected, head, with_verdicts
from dml.report.analysis.verdicts import Verdict, combined, decided, effect, worst
from dml.report.loading import load
from dml.report.site import build
from dml.report.wording import expected, measured
from dml.theory.verdicts import TheoryVerdict

EASY, RANDOM = {"positives": "easy"}, {"positives": "random"}
HELPS = {"paper": "mine", "text": "Easy positives help.", "compare": {"first": EASY, "second": RANDOM}}


def claim(**changes) -> ClaimSection:
    return ClaimSection(**{**HELPS, **changes})


def made(claims, gains=(), seeds=range(5), rates=(0.0,), losses=("triplet",)):
    """A study with these claims, and `alter`: easy positives score `gains[seed]` points more than random ones."""

    def alter(frame):
        frame = frame[frame["phase"] == "confirm"].copy()
        frame["test/fine/recall@1"] = 0.5 + 0.01 * frame["seed"]
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] += np.array(gains)[frame.loc[easy, "seed"].astype(int)] / 100
        return frame

    return {"claims": claims, "seeds": list(seeds), "losses": list(losses), "noise": rates}, alter


@pytest.fixture
def verdicts(synthetic, loaded):
    """(claims, gains) -> the verdicts of one study."""

    def make(claims, gains, alter=lambda frame: frame, **options):
        changes, base = made(claims, gains, **options)
        study = synthetic.small(**{**changes, "noise": synthetic.noise(list(changes["noise"]))})
        (results,) = with_verdicts([loaded(study, lambda frame: alter(base(frame)))])
        return list(results.verdicts)

    return make


UP, NONE, DOWN = [4.0, 5.0, 6.0, 5.5, 4.5], [1.0, -1.0, 0.5, -0.5, 0.1], [-4.0, -5.0, -6.0, -5.5, -4.5]


@pytest.mark.parametrize(
    ("gains", "changes", "word"),
    [
        (UP, {}, "confirmed"),
        (DOWN, {}, "refuted"),
        (NONE, {}, "undecided"),
        (UP, {"direction": "less"}, "refuted"),
        (DOWN, {"direction": "less"}, "confirmed"),
        (UP, {"least": 3.0}, "confirmed"),
        (UP, {"least": 5.0}, "undecided"),
        (UP, {"least": 8.0}, "refuted"),  # higher, but by less than claimed
        (DOWN, {"least": 3.0, "direction": "less"}, "confirmed"),
        (NONE, {"least": -3.0, "direction": "less"}, "confirmed"),  # nothing above 3 points is gained
        (DOWN, {"least": -3.0, "direction": "less"}, "confirmed"),  # a loss is no gain
        (UP, {"least": -3.0, "direction": "less"}, "refuted"),
        (DOWN, {"least": -9.0}, "confirmed"),  # not more than 9 points are lost
        (NONE, {"least": 3.0, "direction": "equal"}, "confirmed"),
        (NONE, {"least": 0.5, "direction": "equal"}, "undecided"),
        (UP, {"least": 3.0, "direction": "equal"}, "refuted"),
        (DOWN, {"least": 3.0, "direction": "equal"}, "refuted"),
        (UP, {"condition": {"cells": RANDOM, "at_least": 40.0}}, "confirmed"),
        (UP, {"condition": {"cells": RANDOM, "at_most": 40.0}}, "not tested"),
        (UP, {"condition": {"cells": RANDOM, "at_least": 95.0}}, "not tested"),
    ],
)
def test_each_verdict_is_reached(verdicts, gains, changes, word):
    (verdict,) = verdicts([claim(**changes)], gains)
    assert verdict.word == word


def test_the_effect_is_paired_over_seeds(verdicts):
    (verdict,) = verdicts([claim()], UP)
    (found,) = verdict.effects
    expected = stats.ttest_1samp(UP, 0.0)
    assert found.mean == pytest.approx(5.0)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.seeds == 5
    assert verdict.p == pytest.approx(expected.pvalue)


def test_a_condition_that_is_not_met_says_what_was_measured(verdicts):
    (verdict,) = verdicts([claim(condition={"cells": RANDOM, "at_least": 95.0})], UP)
    assert "random + random at 0% noise is 52%, expected at least 95%" in verdict.reason


def test_one_seed_decides_nothing(verdicts):
    (verdict,) = verdicts([claim()], UP, seeds=[0])
    assert verdict.word == "undecided"
    assert verdict.effects[0].mean == pytest.approx(4.0)
    assert np.isnan(verdict.p)


def test_only_seeds_that_all_cells_finished_count(verdicts):
    def alter(frame):
        return frame[~((frame["positives"] == "easy") & (frame["seed"] == 4))]

    (verdict,) = verdicts([claim()], UP, alter)
    assert verdict.effects[0].seeds == 4
    (verdict,) = verdicts([claim()], UP, lambda frame: frame[frame["positives"] == "easy"])
    assert (verdict.word, verdict.reason) == ("not tested", NO_SEED)


def test_the_effect_of_a_seed_is_the_mean_over_pairs(verdicts):
    def alter(frame):
        frame.loc[(frame["rate"] == 0.4) & (frame["positives"] == "easy"), "test/fine/recall@1"] += 0.1
        return frame

    (verdict,) = verdicts([claim()], UP, alter, rates=(0.0, 0.4))
    assert verdict.effects[0].mean == pytest.approx(10.0)


def test_each_part_must_hold(verdicts):
    def alter(frame):
        both = (frame["loss"] == "margin") & (frame["positives"] == "easy")
        frame.loc[both, "test/fine/recall@1"] -= 0.05
        return frame

    pooled, each = verdicts([claim(), claim(each=["loss"])], UP, alter, losses=("triplet", "margin"))
    assert pooled.word == "confirmed"
    assert [(e.label, round(e.mean, 6)) for e in each.effects] == [("triplet", 5.0), ("margin", 0.0)]
    assert each.word == "undecided"


def test_each_value_that_the_first_set_lists_is_compared_with_the_second(verdicts):
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


@pytest.mark.parametrize(
    ("direction", "least", "text"),
    [
        *(("greater", 0, "above 0"), ("greater", -1, "above \N{MINUS SIGN}1"), ("less", 0, "below 0")),
        *(("less", 2, "below \N{MINUS SIGN}2"), ("less", -1.5, "below 1.5"), ("equal", 0.5, "within 0.5 of 0")),
    ],
)
def test_what_is_expected_in_words(direction, least, text):
    assert expected(claim(direction=direction, least=least)) == text


def test_a_claim_is_refuted_by_one_of_its_parts(verdicts):
    def alter(frame):
        both = (frame["loss"] == "margin") & (frame["positives"] == "easy")
        frame.loc[both, "test/fine/recall@1"] -= 0.1
        return frame

    (verdict,) = verdicts([claim(each=["loss"])], UP, alter, losses=("triplet", "margin"))
    assert verdict.word == "refuted"
    assert verdict.p == pytest.approx(2 * stats.ttest_1samp(DOWN, 0.0).pvalue)


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


def test_shares_of_the_topline(verdicts):
    def alter(frame):
        frame["test/fine/recall@1"] = np.where(frame["positives"] == "easy", 0.8, 0.4) * (1 - frame["rate"])
        return frame

    (verdict,) = verdicts([claim(share=True, where={"rate": 0.4})], UP, alter, rates=(0.0, 0.4))
    assert verdict.effects[0].mean == pytest.approx(0.0)


def test_what_trials_log_is_compared_too(verdicts):
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


def test_holms_correction_is_over_the_claims_of_one_paper():
    weak = [2.0, 1.0, 3.0, 0.0, 2.5]
    p = stats.ttest_1samp(weak, 0.0).pvalue
    assert 0.0125 < p < 0.05

    def of(*claims):
        return [Verdict(c, "s", "S", "not tested", (effect(weak, c, {}),)) for c in claims]

    (lonely,) = corrected(of(claim()))
    assert (lonely.word, lonely.p) == ("confirmed", pytest.approx(p))
    crowd = corrected(of(*[claim()] * 4, claim(paper="another")))
    assert [v.word for v in crowd] == ["undecided"] * 4 + ["confirmed"]
    assert crowd[0].p == pytest.approx(4 * p)
    untested = Verdict(claim(), "s", "S", "not tested", reason="not run")
    assert corrected([*of(claim()), untested])[0].p == pytest.approx(p)


def test_a_true_null_is_rarely_confirmed_or_refuted():
    draws = np.random.default_rng(0).normal(0, 1, (2000, 5))
    for changes, share in (({}, 0.05), ({"direction": "equal", "least": 1e-9}, 0.05)):
        words = [decided(*combined([effect(row, claim(**changes), {})]))[0] for row in draws]
        assert np.mean([w == "confirmed" for w in words]) < share + 0.01
        assert np.mean([w == "refuted" for w in words]) < share + 0.01


def test_equivalence_is_two_one_sided_tests():
    x = np.array([0.4, -0.2, 0.3, 0.1, 0.6])
    e = effect(x, claim(direction="equal", least=1.0), {})
    lower = stats.ttest_1samp(x, -1.0, alternative="greater").pvalue
    upper = stats.ttest_1samp(x, 1.0, alternative="less").pvalue
    assert e.confirming == pytest.approx(max(lower, upper))
    assert e.refuting == pytest.approx(min(1.0, 2 * (1 - max(lower, upper))))


def test_the_head_of_a_claim_with_several_studies():
    both = printed()["eps-table-6"]
    assert worst(["confirmed", "not tested", "undecided"]) == "undecided"
    assert worst([]) == "not tested"

    def of(word, *sources, stand_in=False):
        return Verdict(claim(), "s", "S", word, sources=sources, stand_in=stand_in)

    assert head(both, []) == "needs data"
    assert head(both, [of("confirmed", "digits", stand_in=True)]) == "needs data"
    assert head(both, [of("confirmed", "cub200")]) == "needs data"
    assert head(both, [of("refuted", "cub200")]) == "refuted"
    assert head(both, [of("confirmed", "cub200"), of("confirmed", "cars196")]) == "confirmed"
    assert head(printed()["eps-table-1-test"], []) == "not tested"


class _Proof:
    """A section of the theory page that refutes a claim."""

    anchor, title = "proof", "A proof"

    def content(self):
        return iter(())

    def verdicts(self):
        return [TheoryVerdict("eps-zero-loss-family", "refuted", "Risk 0.2 > 0.", "Twice the margin.")]


@pytest.fixture
def page(synthetic, tmp_path, monkeypatch):
    """The folder of a report of one study that ran and one that did not."""
    monkeypatch.setattr(contents, "STUDY", ("claims",))
    monkeypatch.setattr("dml.report.site.theory_sections", lambda: [_Proof()])
    changes, alter = made(
        [
            ClaimSection(claim="eps-table-1-test", compare=HELPS["compare"], published=7.1),
            ClaimSection(claim="eps-table-2-cub", compare=HELPS["compare"]),
            claim(place="page 3", note="A <remark>."),
        ],
        UP,
    )
    changes["noise"] = synthetic.noise([0.0])
    studies = [synthetic.small("ran", **changes), synthetic.small("waits", **changes)]
    synthetic.write(studies[0], tmp_path, alter)
    return build(studies, tmp_path / "results", tmp_path / "store", tmp_path / "report").parent


def _articles(text):
    return {
        m[1]: m[0] for m in re.finditer(r'<article class="claim" id="([\w-]+)".*?</article>', text, flags=re.DOTALL)
    }


def test_the_page_lists_all_claims_with_their_verdicts(page):
    text = (page / "claims.html").read_text(encoding="utf-8")
    articles = _articles(text)
    assert list(articles) == list(printed())
    for name, found in articles.items():
        assert printed()[name].claim in html.unescape(re.sub("<[^>]*>", "", found))
    counts = {word: sum(f'data-verdict="{word}"' in a for a in articles.values()) for word in claims_page.WORDS}
    assert counts == {"confirmed": 1, "refuted": 1, "undecided": 0, "not tested": 67, "needs data": 21}
    for word, number in counts.items():
        assert re.search(rf"<dt>. {word.capitalize()}</dt><dd>{number}<", text)


def test_a_claim_shows_its_effect_beside_the_published_one(page):
    articles = _articles((page / "claims.html").read_text(encoding="utf-8"))
    found = html.unescape(articles["eps-table-1-test"])
    for part in (
        "✓",
        "R@1, on digits: +5.0 [+4.0, +6.0] points",
        "p (Holm) < 0.001",
        "5 seeds",
        "published: +7.1",
        "42.3 against 35.2",
    ):
        assert part in found
    assert 'href="studies/ran.html#claims"' in found
    assert "not run" in found  # by the second study
    assert found.index("confirmed") < found.index("not run")


def test_a_stand_in_does_not_decide_a_claim_about_other_data(page):
    found = html.unescape(_articles((page / "claims.html").read_text(encoding="utf-8"))["eps-table-2-cub"])
    assert 'data-verdict="needs data"' in found
    assert "on digits, as a stand-in: +5.0" in found
    assert "<dd>cub200</dd>" in found


def test_theory_is_decided_by_its_sections(page):
    found = html.unescape(_articles((page / "claims.html").read_text(encoding="utf-8"))["eps-zero-loss-family"])
    for part in (
        'data-verdict="refuted"',
        "Risk 0.2 > 0.",
        'href="theory.html#proof"',
        "Corrected",
        "Twice the margin.",
    ):
        assert part in found


def test_own_claims_are_listed_under_their_study(page):
    text = (page / "claims.html").read_text(encoding="utf-8")
    own = text[text.index('id="own"') :]
    assert own.count('data-group="Study ran"') == own.count('data-group="Study waits"') == 1
    assert "mine, page 3" in own
    assert "A &lt;remark&gt;." in own


def test_the_csv_has_each_source_of_a_verdict(page):
    frame = pd.read_csv(page / "data" / "_claims" / "claims.csv", keep_default_na=False)
    assert set(printed()) == set(frame["id"]) - {""}
    assert list(frame.loc[frame["id"] == "eps-table-1-test", "source verdict"]) == ["confirmed", "not tested"]


def test_a_study_shows_its_own_claims(page):
    text = (page / "studies" / "ran.html").read_text(encoding="utf-8")
    assert text.count('<article class="claim"') == 3
    assert 'href="../claims.html#eps-table-1-test"' in text
    frame = pd.read_csv(page / "data" / "ran" / "claims.csv")
    assert frame["effect"].to_list() == pytest.approx([5.0, 5.0, 5.0])
    assert "not run" in (page / "studies" / "waits.html").read_text(encoding="utf-8")


def test_every_page_leads_to_the_claims(page):
    for name in ("index.html", "theory.html", "studies/ran.html"):
        assert 'claims.html">Claims</a>' in (page / name).read_text(encoding="utf-8")


def test_a_theory_verdict_on_no_claim_is_refused(tmp_path):
    class Wrong(_Proof):
        def verdicts(self):
            return [TheoryVerdict("eps-claim-9", "confirmed", "")]

    with pytest.raises(ValueError, match="eps-claim-9"):
        claims_page.claims_page(tmp_path, [], [Wrong()])


def test_a_study_without_claims_has_no_section(synthetic, tmp_path):
    (results,) = with_verdicts([load(synthetic.small(), tmp_path)])
    assert not results.verdicts
