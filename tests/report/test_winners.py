"""The winners and the paired comparisons, against scipy and values computed by hand."""

import numpy as np
import pytest
from scipy import stats

from dml.report.analysis.paired import corrected, paired
from dml.report.labels import readable
from dml.report.page.cells import rows
from dml.report.sections.choices import choice
from dml.report.sections.winners import Winners, every_pair, winners


@pytest.fixture
def three(synthetic, loaded):
    """A study of three methods at one rate with scores chosen by hand: 80, 70 and 79 percent, five seeds."""
    study = synthetic.small(positives=["random", "easy", "all"], noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3, 4])
    scores = {
        "random": np.array([0.70, 0.71, 0.69, 0.70, 0.70]),
        "easy": np.array([0.80, 0.82, 0.78, 0.80, 0.80]),
        "all": np.array([0.79, 0.78, 0.80, 0.79, 0.79]),
    }

    def alter(frame):
        for positives, values in scores.items():
            rows = (frame["positives"] == positives) & (frame["phase"] == "confirm")
            frame.loc[rows, "test/fine/recall@1"] = values
        return frame

    return loaded(study, alter), scores


def test_the_winner_and_the_corrected_p(three):
    results, scores = three
    pairs = every_pair(results).frame
    assert list(pairs["other"]) == ["triplet, all + random", "triplet, random + random"]
    close = stats.ttest_rel(scores["easy"], scores["all"]).pvalue
    far = stats.ttest_rel(scores["easy"], scores["random"]).pvalue
    assert far < close
    assert list(pairs["p"]) == pytest.approx([close, far])
    assert list(pairs["holm"]) == pytest.approx([close, 2 * far])
    assert list(pairs["difference"]) == pytest.approx([1.0, 10.0])


def test_the_winners_row(three):
    results, scores = three
    row = winners(results).frame.iloc[0]
    assert row["winner"] == "triplet, easy + random"
    assert row["score mean"] == pytest.approx(80.0)
    assert row["runner-up"] == "triplet, all + random"
    assert (row["worse"], row["others"]) == (1, 2)
    apart = 100 * (scores["easy"] - scores["all"])
    half = stats.t.ppf(0.975, 4) * apart.std(ddof=1) / np.sqrt(5)
    assert (row["lead low"], row["lead high"]) == pytest.approx((1 - half, 1 + half))


def test_what_a_choice_changes(three):
    table = choice(three[0], "positives")
    assert table.columns[-7].label == f"With {readable('random')}"  # the first of the study
    frame = table.frame
    assert list(frame["positives"]) == ["easy", "all"]
    assert list(frame["difference"]) == pytest.approx([10.0, 9.0])
    assert choice(three[0], "negatives") is None


def test_a_single_seed_gives_no_verdict(synthetic, loaded):
    results = loaded(synthetic.small(positives=["random", "easy", "all"], seeds=[0]))
    assert winners(results).frame["worse"].isna().all()
    cells = dict(zip([c.key for c in winners(results).columns], rows(winners(results))[0], strict=True))
    assert cells["worse"].text == "\N{EN DASH}"
    finding = next(iter(Winners().card(results))).items[0]
    assert "significantly" not in finding.text


def test_too_few_seeds_give_no_p(three):
    results, _ = three
    one = results.values(next(iter(results.cells)), "test/fine/recall@1")
    found = paired(one[:1], one[:1])
    assert found["difference"] == 0.0
    assert np.isnan(found["p"])
    assert np.isnan(corrected([found])[0]["holm"])
