"""The recommendation: the report's winner at the level that is asked for, or at the nearest rate."""

import dataclasses
import json

import pytest
from synthetic import of_study, only_confirmed, scoring

from dml.cli.recommendation_text import recommendation_text
from dml.config import DatasetSection, NoiseSection
from dml.report.analysis.flags import ends_late
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
    assert found.level == rate


@pytest.mark.parametrize(("rate", "level"), [(0.1, 0.0), (0.2, 0.4), (0.3, 0.4), (0.7, 0.4)])
def test_at_another_rate_the_nearest_counts(results, rate, level):
    found = recommend(results, rate)
    assert (found.level, found.rate) == (level, rate)
    assert found.methods == recommend(results, level).methods
    assert any(f"what holds at {level:.0%}, the nearest rate" in note for note in found.notes)


@pytest.mark.parametrize(
    ("schedule", "scores", "said"),
    [
        ("cosine", (1, 2, 3), True),
        ("constant", (1, 2, 3), False),
        ("cosine", (1, 3, 2), False),
        ("cosine", (3,), False),
    ],
)
def test_a_best_score_at_the_end_of_falling_rates_is_no_proof_of_enough_steps(
    synthetic, loaded, schedule, scores, said
):
    curve = json.dumps([[100 * (at + 1), {"validation/fine/recall@1": one / 10}] for at, one in enumerate(scores)])

    def searched(frame):
        tuned = frame["phase"] == "tune"
        return scoring(SCORES, "positives", "rate")(frame).assign(curve=frame["curve"].mask(tuned, curve))

    study = synthetic.small(positives=["random", "easy", "all"], seeds=[0, 1, 2, 3, 4])
    results = loaded(study, searched)
    training = dataclasses.replace(results.study.training, schedule=schedule)
    assert ends_late(of_study(results, training=training), recommend(results, 0.0).winner.cell) is said


def test_methods_without_a_seed_there_are_left_out(synthetic, loaded):
    study = synthetic.small(positives=["random", "easy", "all"], seeds=[0, 1, 2, 3, 4])

    def alter(frame):
        frame = altered(frame)
        gone = (frame["rate"] == 0.4) & (frame["positives"] == "easy")
        partly = (frame["rate"] == 0.4) & (frame["positives"] == "random") & (frame["seed"] >= 3)
        return frame[~(gone | partly)]

    found = recommend(loaded(study, alter), 0.4)
    assert dict(zip(positives(found), (rival.seeds for rival in found.methods), strict=True)) == {"random": 3, "all": 5}
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
    assert (found.level, found.rate) == (0.0, wrong)
    assert positives(found)[0] == "easy"
    assert any("not measured" in note for note in found.notes) == (rate is not None and whose is not own)


def test_a_rate_that_a_study_counted_is_known(published):
    assert recommend(published("regime-human")).rate == 0.365


def test_a_method_without_a_common_seed_is_not_called_worse(synthetic, loaded):
    def alter(frame):
        frame = altered(frame)
        frame.loc[(frame["positives"] == "all") & (frame["seed"] > 0), "status"] = "failed"
        return frame

    study = synthetic.small(positives=["random", "easy", "all"], seeds=[0, 1, 2, 3, 4])
    text = recommendation_text(recommend(loaded(study, alter), 0.0), "", [])
    assert "; 1 method significantly worse" in text or "\n1 method significantly worse" in text


def test_a_rate_of_ones_own_labels_is_that_of_labels_as_given(results):
    found = recommend(own(results), 0.3, wrong=0.1)
    assert (found.level, found.rate, positives(found)[0]) == (0.0, 0.3, "easy")
