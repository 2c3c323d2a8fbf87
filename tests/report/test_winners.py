"""The winners and the paired comparisons, against scipy and values computed by hand."""

import numpy as np
import pytest
from scipy import stats
from synthetic import only_confirmed, scoring

from dml.report.analysis import paired
from dml.report.sections.winners import every_pair, winners
from dml.statistics import detectable


@pytest.fixture
def three(synthetic, loaded):
    """A study of three methods at one rate with scores chosen by hand: 80, 70 and 79 percent, five seeds."""
    study = synthetic.small(positives=["random", "easy", "all"], noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3, 4])
    scores = {
        "random": np.array([0.70, 0.71, 0.69, 0.70, 0.70]),
        "easy": np.array([0.80, 0.82, 0.78, 0.80, 0.80]),
        "all": np.array([0.79, 0.78, 0.80, 0.79, 0.79]),
    }
    return loaded(study, lambda frame: only_confirmed(scoring(scores, "positives")(frame))), scores


def test_the_winner_and_the_adjusted_p(three):
    results, scores = three
    pairs = every_pair(results).frame
    assert list(pairs["other"]) == ["triplet, all + random", "triplet, random + random"]
    close = stats.ttest_rel(scores["easy"], scores["all"]).pvalue
    far = stats.ttest_rel(scores["easy"], scores["random"]).pvalue
    assert far < close
    assert list(pairs["p"]) == pytest.approx([close, far])
    assert list(pairs["p adjusted"]) == pytest.approx(list(paired.adjusted_p([close, far], [5, 5])))
    assert pairs["p adjusted"][0] == pytest.approx(close)  # the only one left
    assert pairs["p adjusted"][1] == pytest.approx(3 * far)  # three pairs: so small a p is beyond the simulation
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


def test_the_lead_that_is_found_in_four_of_five_cases(three):
    results, scores = three
    values = 100 * np.array(list(scores.values()))
    rest = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    spread = (2 * (rest**2).sum() / (2 * 4)) ** 0.5
    assert paired.detectable(results) == pytest.approx(detectable(spread, 5, 0.05 / 2))
    assert "is found with a chance of 80%" in winners(results).caption
