"""The recommendation: at measured rates the report's winner, between them interpolated seed by seed; against scipy."""

import numpy as np
import pytest
from scipy import stats
from synthetic import of_study, only_confirmed, scoring

from dml.config import DatasetSection, NoiseSection
from dml.noise import Uniform
from dml.report.analysis import paired
from dml.report.analysis.selection import composed
from dml.report.recommendation import WORSE, recommend
from dml.report.sections.winners import winners

pytestmark = pytest.mark.slow

SCORES = {  # R@1 by positives, at the noise rates 0 and 0.4: the winner changes
    ("random", 0.0): [0.70, 0.71, 0.69, 0.70, 0.72],
    ("random", 0.4): [0.60, 0.62, 0.59, 0.60, 0.60],
    ("easy", 0.0): [0.80, 0.82, 0.78, 0.80, 0.80],
    ("easy", 0.4): [0.50, 0.51, 0.49, 0.52, 0.50],
    ("all", 0.0): [0.79, 0.81, 0.79, 0.80, 0.79],
    ("all", 0.4): [0.30, 0.32, 0.31, 0.30, 0.30],
}


@pytest.fixture
def results(synthetic, loaded):
    study = synthetic.small(positives=["random", "easy", "all"], seeds=[0, 1, 2, 3, 4])
    return loaded(study, altered)


def altered(frame):
    return only_confirmed(scoring(SCORES, "positives", "rate")(frame))


def positives(found):
    return [rival.cell.split("|")[3].split("+")[0] for rival in found.methods]


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_at_a_measured_rate_it_is_the_reports_winner(results, rate):
    found = recommend(results, rate)
    table = winners(results).frame.set_index("rate")
    row = table.loc[rate]
    assert found.winner.cell == row["cell"]
    assert found.winner.method == row["winner"]
    assert (found.winner.mean, found.winner.low) == (row["score mean"], row["score low"])
    second = found.methods[1]
    assert (second.method, second.behind, second.p) == (row["runner-up"], row["lead"], row["p adjusted"])
    assert sum(rival.verdict == WORSE for rival in found.methods) == row["worse"]
    assert found.measured == {rate: 1.0}


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.25), (0.3, 0.75)])
def test_between_measured_rates_each_seed_is_interpolated(results, rate, share):
    found = recommend(results, rate)
    expected = {
        name: 100 * ((1 - share) * np.array(SCORES[name, 0.0]) + share * np.array(SCORES[name, 0.4]))
        for name in ("random", "easy", "all")
    }
    order = sorted(expected, key=lambda name: -expected[name].mean())
    assert positives(found) == order
    assert found.measured == pytest.approx({0.0: 1 - share, 0.4: share})
    p = [stats.ttest_rel(expected[order[0]], expected[name]).pvalue for name in order[1:]]
    for rival, name in zip(found.methods, order, strict=True):
        assert rival.mean == pytest.approx(expected[name].mean())
        assert rival.behind == pytest.approx(expected[order[0]].mean() - expected[name].mean())
    assert [rival.p for rival in found.methods[1:]] == pytest.approx(list(paired.adjusted_p(p, [5, 5])))
    nearest = "0.4" if rate > 0.2 else "0"
    assert all(rival.cell.split("|")[1] == f"uniform-{nearest}" for rival in found.methods)
    assert any(f"{rate:.0%} was not measured" in note for note in found.notes)
    assert any(f"tuned at {float(nearest):.0%}" in note for note in found.notes)


def test_beyond_the_measured_rates_the_nearest_counts(results):
    found = recommend(results, 0.7)
    assert found.measured == {0.4: 1.0}
    assert found.methods == recommend(results, 0.4).methods
    assert any("70% is beyond the measured rates" in note for note in found.notes)


def test_only_seeds_of_both_rates_count_and_methods_without_any_are_left_out(synthetic, loaded):
    study = synthetic.small(positives=["random", "easy", "all"], seeds=[0, 1, 2, 3, 4])

    def alter(frame):
        frame = altered(frame)
        noisy = frame["rate"] == 0.4
        gone = noisy & (frame["positives"] == "easy")
        partly = noisy & (frame["positives"] == "random") & (frame["seed"] >= 3)
        return frame[~(gone | partly)]

    found = recommend(loaded(study, alter), 0.1)
    assert positives(found) == ["all", "random"] or positives(found) == ["random", "all"]
    seeds = dict(zip(positives(found), (rival.seeds for rival in found.methods), strict=True))
    assert seeds == {"random": 3, "all": 5}
    assert any("1 method of 3 left out" in note for note in found.notes)


def own(results, *by_given):
    """The results as of a user's own images, perhaps with verified labels beside those as given."""
    dataset = DatasetSection(name="imagefolder", id="digits", settings={"root": "photos"})
    noise = [*results.study.noise, *(NoiseSection(name="given", rates=[rate]) for rate in by_given)]
    return of_study(results, datasets=[dataset], noise=noise)


@pytest.mark.parametrize("whose", [lambda results: results, own])
@pytest.mark.parametrize(("rate", "wrong"), [(None, None), (None, 0.118), (0.118, 0.118), (None, 0.35)])
def test_labels_as_given_are_not_made_wrong_by_what_is_wrong_of_them_already(results, whose, rate, wrong):
    """Easy positives win there; random ones win at rates above 0.2, which 11.8% would count for too."""
    found = recommend(whose(results), rate, wrong=wrong)
    assert (found.measured, found.rate) == ({0.0: 1.0}, wrong)
    assert positives(found)[0] == "easy"
    assert not any("beyond" in note or "not measured" in note for note in found.notes)


def test_a_rate_of_ones_own_labels_is_that_of_labels_as_given_unless_an_audit_says_another(results):
    assert recommend(own(results), 0.3).measured == {0.0: 1.0}
    assert positives(recommend(own(results), 0.3))[0] == "easy"
    assert recommend(results, 0.3).measured == pytest.approx({0.0: 0.25, 0.4: 0.75}), "of verified labels"
    found = recommend(own(results), composed(0.1, 0.2), wrong=0.1)
    assert found.measured == pytest.approx({0.0: 0.5, 0.4: 0.5})
    assert any("10% (50%) and 46% (50%)" in note for note in found.notes)
    assert recommend(own(results), composed(0.1, 0.4), wrong=0.1).measured == {0.4: 1.0}
    assert recommend(own(results), 0.05, wrong=0.1).measured == {0.0: 1.0}, "fewer than there are"


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_share_of_wrong_labels_after_some_were_made_wrong(classes):
    true = np.arange(60_000) % classes
    given = Uniform(rate=0.118).corrupt(true, seed=0).observed
    made = Uniform(rate=0.2).corrupt(given, seed=1).observed
    assert np.mean(made != true) == pytest.approx(composed(0.118, 0.2, classes), abs=0.003)
    assert composed(0.118, 0.0, classes) == 0.118
    assert composed(0.118, 0.2) == pytest.approx(1 - 0.882 * 0.8)
