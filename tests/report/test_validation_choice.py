"""Validation classes choose, test classes judge."""

from dataclasses import replace

import pytest
from synthetic import KEY, only_confirmed, scoring

from dml import statistics
from dml.report.analysis.paired import versus_winner
from dml.report.analysis.selection import ON_TEST, ON_VALIDATION
from dml.report.analysis.untrained import gain_of_best
from dml.report.recommendation import BETTER, recommend
from dml.report.sections.winners import winners

TEST = {"random": [0.90, 0.91, 0.89, 0.90], "easy": [0.80, 0.81, 0.79, 0.82], "all": [0.70, 0.72, 0.69, 0.71]}
VALIDATION = {"random": 0.5, "easy": 0.6, "all": 0.4}  # of the best trial


def altered(frame):
    tuned = frame["phase"] == "tune"
    frame.loc[tuned, "objective"] = frame["positives"].map(VALIDATION) - 0.001 * frame["number"]
    frame.loc[tuned, "validation/fine/recall@1"] = frame.loc[tuned, "objective"]
    return scoring(TEST, "positives")(frame)


@pytest.fixture
def study(synthetic):
    return synthetic.small(positives=list(TEST), noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3])


def test_a_better_method_on_test_classes_is_not_the_winner(study, loaded):
    results = loaded(study, altered)
    rows = versus_winner(results)
    assert rows["winner"].str.contains("easy").all()
    assert list(rows["difference"]) == pytest.approx([-9.5, 10.0])
    assert list(rows["p adjusted"]) == pytest.approx(list(statistics.holm(list(rows["p"]))))
    row = winners(results).frame.iloc[0]
    assert (row["worse"], row["others"]) == (1, 2), "the one above it is not counted"
    assert ON_VALIDATION in winners(results).caption
    found = recommend(results, 0.0)
    assert "easy" in found.winner.method
    assert found.methods[1].verdict == BETTER
    assert ON_VALIDATION in found.notes


def test_without_validation_scores_the_page_says_that_test_classes_choose(study, loaded):
    results = loaded(study, lambda frame: only_confirmed(altered(frame)))
    assert versus_winner(results)["winner"].str.contains("random").any()
    assert ON_TEST in winners(results).caption
    assert ON_TEST in recommend(results, 0.0).notes


def test_a_method_without_a_tuned_score_in_a_split_is_not_chosen_and_changes_no_other_choice(study, loaded):
    def untuned(frame):
        made = altered(frame)
        return made.assign(objective=made["objective"].mask(made["positives"] == "random"))

    results = loaded(study, untuned)
    assert "easy" in recommend(results, 0.0).winner.method
    assert ON_VALIDATION in winners(results).caption


@pytest.mark.parametrize(("scores", "sure"), [([0.8] * 4, False), ([0.8, 0.8, 0.8, 0.81], True)])
def test_a_gain_of_equal_seeds_has_no_interval(study, loaded, scores, sure):
    alone = {"untrained": {"digits": {"pixels": {KEY: 0.75}}}}
    each = {"random": 0.7, "easy": scores, "all": 0.7}
    results = loaded(study, lambda made: only_confirmed(scoring(each, "positives")(made)))
    results = replace(results, summary=alone)
    assert (gain_of_best(results, "digits", "uniform", 0.0, KEY).gain.low > 0) == sure


def test_the_gain_over_no_training_is_that_of_the_chosen_method(study, loaded):
    alone = {"untrained": {"digits": {"pixels": {KEY: 0.75}}}}
    gain = gain_of_best(replace(loaded(study, altered), summary=alone), "digits", "uniform", 0.0, KEY)
    assert "easy" in gain.best
    assert gain.gain.mean == pytest.approx(5.5)
    assert gain.above == 2
