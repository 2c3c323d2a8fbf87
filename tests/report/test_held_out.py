"""The method that other seeds choose, judged by the seed that was left out; against a naive loop."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from dml.config import DatasetSection
from dml.report.analysis.held_out import held_out
from dml.report.cross_study_tables import across_studies, what_to_use
from dml.report.page.markdown import markdown

pytestmark = pytest.mark.slow

KEY = "test/fine/recall@1"


def untuned(frame):
    return frame[frame["phase"] == "confirm"]


@pytest.fixture
def results(synthetic, loaded):
    return loaded(
        synthetic.study(seeds=[0, 1, 2, 3], evaluation=synthetic.evaluation(["recall@1", "map@r"], ["test"])), untuned
    )


def naive(results, rate):
    """(score of each seed by what the others chose, usual scores, choices)."""
    names = results.cells_of("digits", "uniform", rate)
    table = np.array([results.values(name, KEY).to_numpy() for name in names])
    usual = next(i for i, name in enumerate(names) if "|triplet|random+semihard_random" in name)
    chosen = [int(np.delete(table, seed, axis=1).mean(axis=1).argmax()) for seed in range(table.shape[1])]
    return np.array([table[best, seed] for seed, best in enumerate(chosen)]), table[usual], [names[i] for i in chosen]


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_each_seed_judges_what_the_others_chose(results, rate):
    found = held_out(results, "digits", "uniform", rate)
    scores, usual, chosen = naive(results, rate)
    assert found.score.mean == pytest.approx(scores.mean())
    gains = scores - usual
    low, high = stats.t.interval(0.95, 3, gains.mean(), stats.sem(gains))
    assert (found.gain.mean, found.gain.low, found.gain.high) == pytest.approx((gains.mean(), low, high))
    assert found.times == chosen.count(found.chosen) == max(map(chosen.count, chosen))
    means = [results.values(name, KEY).mean() for name in results.cells_of("digits", "uniform", rate)]
    assert found.spread == pytest.approx(max(means) - min(means))


@pytest.mark.parametrize(("unknown", "judge"), [([], "recall@1"), ([KEY], "map@r")])
def test_recall_at_1_judges_where_it_is_known_and_else_the_objective(synthetic, loaded, unknown, judge):
    search = synthetic.study().search.model_copy(update={"objective": "map@r"})
    results = loaded(synthetic.study(search=search), lambda frame: frame.drop(columns=unknown))
    found, key = held_out(results, "digits", "uniform", 0.0), f"test/fine/{judge}"
    means = [results.values(name, key).mean() for name in results.cells_of("digits", "uniform", 0.0)]
    assert (found.key, found.spread) == (key, pytest.approx(max(means) - min(means)))


def lucky(frame):
    """Of equal methods, those with easy positives score more with seed 0."""
    confirmed = frame["phase"] == "confirm"
    frame.loc[confirmed, KEY] = 0.5
    easy = confirmed & (frame["positives"] == "easy") & (frame["seed"] == 0)
    frame.loc[easy, KEY] = 0.9
    return frame[frame["phase"] == "confirm"]  # without tuning, so the test classes choose


def test_the_table_says_how_often_a_method_is_chosen(synthetic, loaded):
    """Without seed 0, another one is."""
    frame = what_to_use([loaded(synthetic.study(), lucky)]).frame
    assert {use.partition(" (")[2] for use in frame["use"]} == {"2 of 3)"}


def test_luck_of_one_seed_is_not_a_gain(synthetic, loaded):
    results = loaded(synthetic.study(), lucky)
    found = held_out(results, "digits", "uniform", 0.0)
    assert found.spread == pytest.approx(100 * 0.4 / 3)
    assert found.gain.mean == 0, "the seed that made it best judges another method, and the others judge it"


def test_equal_means_are_equal_however_they_are_added(synthetic, loaded):
    """1 + 14 is more than 2 + 13 in percentages of floats: the first of equal methods is chosen."""

    def tied(frame):
        confirmed = frame["phase"] == "confirm"
        frame.loc[confirmed, KEY] = frame["seed"].map({0: 0.02, 1: 0.13, 2: 0.0})
        easy = confirmed & (frame["positives"] == "easy")
        frame.loc[easy, KEY] = frame["seed"].map({0: 0.01, 1: 0.14, 2: 0.0})
        return frame[frame["phase"] == "confirm"]  # without tuning, so the test classes choose

    results = loaded(synthetic.study(seeds=[0, 1, 2]), tied)
    first = results.cells_of("digits", "uniform", 0.0)[0]
    found = held_out(results, "digits", "uniform", 0.0)
    assert "easy" not in first
    assert (found.chosen, found.times) == (first, 2), "without seed 1, and without seed 2, where both are equal"


def test_one_seed_or_one_method_says_nothing(synthetic, loaded):
    assert held_out(loaded(synthetic.study(seeds=[0])), "digits", "uniform", 0.0) is None
    assert held_out(loaded(synthetic.small(positives=["easy"])), "digits", "uniform", 0.0) is None


def test_without_the_usual_choice_there_is_no_gain(synthetic, loaded):
    found = held_out(loaded(synthetic.study(losses=["margin"])), "digits", "uniform", 0.0)
    assert found.gain is None


def test_the_table_has_a_row_for_each_rate_and_the_score_without_training(results):
    untrained = {"digits": {"pixels": {KEY: 0.125}}}
    results = dataclasses.replace(results, summary={**results.summary, "untrained": untrained})
    frame = what_to_use([results]).frame
    assert list(frame["noise"]) == ["none", "20% uniform noise", "40% uniform noise"]
    assert set(frame["untrained"]) == {"12.5 (pixels)"}
    scores, usual, _ = naive(results, 0.0)
    assert frame["score"][0] == f"R@1 {scores.mean():.1f}"
    assert frame["use"][0].endswith("of 4)")
    assert f"{(scores - usual).mean():.1f}".lstrip("-") in frame["gain"][0]
    assert set(frame["trained"]) == {"network, rate not tuned, still rising"}
    lines = markdown(across_studies([results], None)).splitlines()
    higher = sum(naive(results, rate)[0].mean() < 12.5 for rate in (0.0, 0.2, 0.4))
    assert lines[0].startswith(
        "In 3 of 3 rows the learning rate is not tuned. 3 of 3 rows decide nothing, for the reason beside them. "
        f"The score without training is higher in {higher} of 3 rows."
    )
    assert sum(line.startswith("| `digits` |") for line in lines) == 3


def test_of_a_study_on_several_datasets_each_row_names_its_own_in_their_order(synthetic, loaded):
    datasets = [DatasetSection(name="digits", id="more"), DatasetSection(name="digits")]
    frame = what_to_use([loaded(synthetic.study(noise=synthetic.noise([0.0]), datasets=datasets), untuned)]).frame
    assert list(frame["study"]) == ["digits, digits", "digits, more"]


def test_one_row_is_no_table(synthetic, loaded):
    assert what_to_use([loaded(synthetic.study(noise=synthetic.noise([0.0])))]) is None


def test_a_method_without_a_finished_seed_takes_no_part(synthetic, loaded):
    results = loaded(synthetic.study(), untuned)
    lost = next(name for name in results.cells_of("digits", "uniform", 0.0) if "easy" in name)
    results = dataclasses.replace(results, trials=results.trials[results.trials["cell"] != lost])
    assert held_out(results, "digits", "uniform", 0.0).cells == 7


def test_without_crossed_studies_there_is_no_table(synthetic, loaded):
    assert what_to_use([loaded(synthetic.small())]) is None
