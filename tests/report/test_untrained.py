"""Trained methods beside what they start from: frozen features without a head, or pixels."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from dml.report.page.blocks import Drawing
from dml.report.recipe import recipe
from dml.report.sections.untrained import Untrained, all_scores, best_and_untrained
from dml.report.sections.winners import Winners, winners

KEY = "test/fine/recall@1"
SCORES = {  # R@1 by positives, at the noise rates 0 and 0.4
    ("random", 0.0): [0.70, 0.71, 0.69],
    ("random", 0.4): [0.60, 0.62, 0.61],
    ("easy", 0.0): [0.80, 0.82, 0.78],
    ("easy", 0.4): [0.50, 0.51, 0.49],
}


@pytest.fixture
def with_features(synthetic, loaded):
    """Makes the results of a study whose features have given scores."""

    def altered(frame):
        for (positives, rate), values in SCORES.items():
            rows = (frame["positives"] == positives) & (frame["rate"] == rate) & (frame["phase"] == "confirm")
            frame.loc[rows, KEY] = values
        return frame

    results = loaded(synthetic.small(), altered)

    def make(**kinds):
        alone = {"digits": {name: {KEY: score} for name, score in kinds.items()}}
        return dataclasses.replace(results, summary={**results.summary, "untrained": alone})

    return make


def unfinished(results, rate, *positives):
    """Leaves out the trials of some choices of positives at a rate."""
    trials = results.trials
    return dataclasses.replace(results, trials=trials[(trials["rate"] != rate) | ~trials["positives"].isin(positives)])


def test_a_study_without_these_scores_has_no_such_section(synthetic, loaded):
    assert not Untrained().applies(loaded(synthetic.small()))


def test_the_best_head_of_each_rate_beside_the_features(with_features):
    results = with_features(mobilenet=0.65)
    assert Untrained().applies(results)
    frame = best_and_untrained(results).frame.set_index("rate")
    assert list(frame["untrained"]) == [65.0, 65.0]
    assert [("easy" in name, "random" in name) for name in frame["best"]] == [(True, True), (False, True)]
    assert list(frame["above"]) == [2, 0]
    assert list(frame["others"]) == [2, 2]
    gains = 100 * np.array(SCORES["easy", 0.0]) - 65
    low, high = stats.t.interval(0.95, 2, gains.mean(), stats.sem(gains))
    np.testing.assert_allclose(frame.loc[0.0, ["gain", "gain low", "gain high"]].to_numpy(float), [15, low, high])
    assert frame.loc[0.4, "gain"] == pytest.approx(-4)


def test_of_several_kinds_of_features_the_best_one_counts(with_features):
    results = with_features(small=0.5, large=0.75)
    assert list(best_and_untrained(results).frame["untrained"]) == [75.0, 75.0]
    assert all_scores(results) is None, "one score is in the first table"


@pytest.mark.parametrize(("pixels", "net", "said"), [(0.75, 0.5, "pixels"), (0.5, 0.75, "frozen features")])
def test_of_pixels_and_features_the_better_one_is_named(with_features, pixels, net, said):
    frame = best_and_untrained(with_features(pixels=pixels, net=net)).frame
    assert set(zip(frame["from"], frame["untrained"], strict=True)) == {(said, 75.0)}


def test_shortened_features_have_a_column_and_are_not_what_training_is_compared_with(with_features):
    table = best_and_untrained(with_features(**{"net": 0.65, "net, 4 components": 0.7}))
    assert list(table.frame["untrained"]) == [65.0, 65.0]
    assert list(table.frame["shortened"]) == [70.0, 70.0]
    assert "Shortened: " in table.caption
    assert "shortened" in [column.key for column in table.columns]
    assert "shortened" not in [column.key for column in best_and_untrained(with_features(net=0.65)).columns]


def test_only_methods_with_a_finished_seed_count(with_features):
    results = unfinished(with_features(net=0.65), 0.0, "easy")
    (row,) = best_and_untrained(results).frame.query("rate == 0").to_dict("records")
    assert (row["gain"], row["above"], row["others"]) == (pytest.approx(5), 1, 1)


def test_a_rate_without_a_finished_trial_has_no_row(with_features):
    results = unfinished(with_features(net=0.65), 0.0, "easy", "random")
    assert list(best_and_untrained(results).frame["rate"]) == [0.4]


@pytest.mark.parametrize(("normalize", "said"), [(True, "by cosine"), (False, "by Euclidean distance")])
def test_the_caption_says_how_neighbours_are_found(with_features, normalize, said):
    results = with_features(net=0.65)
    training = results.study.training.model_copy(update={"normalize": normalize})
    study = results.study.model_copy(update={"training": training})
    assert said in best_and_untrained(dataclasses.replace(results, study=study)).caption


def test_all_scores_of_the_features_have_a_table(synthetic, loaded):
    results = loaded(synthetic.study())
    alone = {"digits": {"net": {KEY: 0.5, "test/fine/map@r": 0.25}}}
    results = dataclasses.replace(results, summary={"untrained": alone})
    frame = all_scores(results).frame
    assert frame.to_dict("records") == [{"dataset": "digits", "from": "net", KEY: 50.0, "test/fine/map@r": 25.0}]


def test_the_key_figure_draws_the_features_and_its_caption_says_so(with_features, synthetic, loaded):
    for results, expected in ((with_features(net=0.65), [65.0]), (loaded(synthetic.small()), [])):
        drawing = next(block for block in Winners().content(results) if isinstance(block, Drawing))
        dotted = [line for line in drawing.figure.axes[0].lines if line.get_linestyle() == ":"]
        assert [line.get_ydata()[0] for line in dotted] == expected
        assert ("Dotted: the frozen features, without training." in drawing.caption) == bool(expected)


def test_a_card_of_the_index_names_the_features(with_features):
    (findings,) = Winners().card(with_features(net=0.65))
    assert all(finding.text.endswith("Without training: 65.0 %.") for finding in findings.items)
    assert winners(with_features(net=0.65)) is not None


@pytest.mark.parametrize(
    ("name", "score", "said"),
    [
        ("net", 0.65, "the frozen features score 65.0, and the winner 15.0 points more."),
        ("pixels", 0.65, "pixels score 65.0, and the winner 15.0 points more."),
        ("net", 0.79, "the frozen features score 79.0: the winner is not surely better (+1.0 points)."),
        ("net", 0.85, "the frozen features score 85.0, the winner no more (-5.0 points): use them"),
        ("vectors", 0.85, "the vectors score 85.0, the winner no more (-5.0 points): use them"),
        ("pixels", 0.85, "pixels score 85.0, the winner no more (-5.0 points): it has learnt nothing"),
    ],
)
def test_a_recipe_says_whether_training_is_worth_it(with_features, name, score, said):
    note = recipe(with_features(**{name: score}), 0.0).notes[-1].replace("\N{MINUS SIGN}", "-")
    assert note.startswith(f"Without training {said}")


def test_a_recipe_of_a_study_without_these_scores_says_nothing_of_it(synthetic, loaded):
    assert not any("training" in note for note in recipe(loaded(synthetic.small()), 0.0).notes)
