"""Trained methods beside what they start from: frozen features without a head, or pixels."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats
from synthetic import KEY, only_confirmed, scoring

from dml.report.recommendation import STOP_AT, outcome, outcome_of, recommend, settings_of
from dml.report.sections.untrained import Untrained, best_and_untrained
from dml.statistics import Summary
from dml.types import Part

pytestmark = pytest.mark.slow

SCORES = {  # R@1 by positives, at the noise rates 0 and 0.4
    ("random", 0.0): [0.70, 0.71, 0.69],
    ("random", 0.4): [0.60, 0.62, 0.61],
    ("easy", 0.0): [0.80, 0.82, 0.78],
    ("easy", 0.4): [0.50, 0.51, 0.49],
}


@pytest.fixture
def with_features(synthetic, loaded):
    """Makes the results of a study whose features have given scores."""
    results = loaded(synthetic.small(), lambda frame: only_confirmed(scoring(SCORES, "positives", "rate")(frame)))

    def make(**kinds):
        alone = {"digits": {name: {KEY: score} for name, score in kinds.items()}}
        return dataclasses.replace(results, summary={**results.summary, "untrained": alone})

    return make


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


def record(rate, score, noise="uniform", name="net, whitened", dataset="digits"):
    return {"dataset": dataset, "noise": noise, "rate": rate, "name": name, "scores": {KEY: score}}


@pytest.fixture
def with_projections(with_features):
    """Results with features at 65 and whitened ones at each noise rate; the record of another noise does not count."""
    results = with_features(**{"net": 0.65, "net, whitened": 0.9})
    records = [
        record(0.0, 0.75),
        record(0.0, 0.9, noise="label_file:suggested"),
        record(0.4, 0.7),
        record(0.4, 0.95, noise="asymmetric"),
        record(0.4, 0.99, dataset="x"),
    ]
    return dataclasses.replace(results, summary={**results.summary, "untrained_by_noise": records})


def test_projections_fitted_to_labels_count_at_their_own_noise(with_projections):
    frame = best_and_untrained(with_projections).frame.set_index("rate")
    assert dict(frame["untrained"]) == {0.0: 75.0, 0.4: 70.0}
    assert set(frame["from"]) == {"frozen features, whitened"}
    assert frame.loc[0.0, "gain"] == pytest.approx(80 - 75)
    assert frame.loc[0.4, "gain"] == pytest.approx(61 - 70)
    assert frame.loc[0.0, "above"] == 1


@pytest.mark.parametrize(
    ("name", "score", "free", "gain"),
    [
        ("net", 0.65, False, "+15.0 [+10.0, +20.0]"),
        ("pixels", 0.65, False, "+15.0 [+10.0, +20.0]"),
        ("net", 0.79, True, "+1.0 [-4.0, +6.0]"),
        ("vectors", 0.85, True, "-5.0 [-10.0, 0.0]"),
    ],
)
def test_a_recommendation_says_whether_training_is_worth_it(with_features, name, score, free, gain):
    results = with_features(**{name: score})
    found = recommend(results, 0.0)
    assert found.free is free
    assert gain in found.notes[-1].replace("\N{MINUS SIGN}", "-")
    assert outcome_of(results).text == found.notes[-1]  # one function for the page, its card, `dml run` and this
    assert outcome_of(results).free is free


SURE, SMALL, UNSURE = (3.0, 2.0, 4.0), (0.1, 0.05, 0.15), (2.0, -1.0, 5.0)


@pytest.mark.parametrize(
    ("gains", "free"),
    [
        ([SURE], False),
        ([SMALL], True),
        ([SMALL, SMALL], True),
        ([SMALL, UNSURE], True),
        ([SMALL, SURE], False),
        ([SURE, SMALL], False),
        ([UNSURE, SURE], True),
    ],
)
@pytest.mark.parametrize("seeds", [3, 1])
def test_a_sure_gain_must_matter_too(gains, free, seeds):
    named = {
        metric: Summary(mean, 1.0, *(limits if seeds > 1 else [np.nan] * 2), seeds)
        for metric, (mean, *limits) in zip(("MAP@R", "R@1"), gains, strict=False)
    }
    alone = gains[0] == SMALL  # one seed, so nothing is sure: the size of the first decides
    verdict = outcome("study", "triplet", "pixels", named)
    none = [outcome("s", "a", "b", {"MAP@R": Summary(mean, 1.0, 0.01, 0.07, seeds)}).text for mean in (0.04, 0.0)]
    assert none[0] == none[1]  # as it is printed
    assert verdict.free is (free if seeds > 1 else alone)
    assert verdict.command == "dml refit study" + " --free" * verdict.free


def test_settings_of_class_splits_are_of_one_that_trains(with_features):
    results = with_features()
    cell = results.confirmed["cell"].iloc[0]
    rows = results.trials["cell"] == cell
    stops = iter([0, 20, 30])
    trials = results.trials.copy()
    trials.loc[rows, "settings"] = [json.dumps({STOP_AT: next(stops, 40)}) for _ in range(rows.sum())]
    assert settings_of(dataclasses.replace(results, trials=trials), cell)[STOP_AT] == 20


def test_a_method_in_closed_form_has_no_settings_of_training(with_features):
    """Without pretrained weights it starts from pixels."""
    results = with_features()
    cell = results.confirmed["cell"].iloc[0]
    free = dataclasses.replace(results.cells[cell], loss=Part("whitening"), miner=None, positives=None, negatives=None)
    results.cells[cell] = free
    settings = settings_of(results, cell)
    assert settings["training.backbone"] == "pixels"
    assert not {f"training.{name}" for name in ("steps", "batch", "optimizer", "learning_rate")} & set(settings)


def test_what_observed_labels_choose_is_the_baseline(with_projections):
    """Also where another projection is better on test classes; re-ranked embeddings are never compared."""
    choices = {0.0: ["whitened, both views"], 0.4: ["LDA", "whitened, both views", "whitened, both views"]}
    chosen = [
        record(rate, score, name="net, free") | {"chosen": choices[rate]} for rate, score in ((0.0, 0.72), (0.4, 0.66))
    ]
    ranked = [record(rate, 0.99, name="net, free, re-ranked") for rate in (0.0, 0.4)]
    records = [*with_projections.summary["untrained_by_noise"], *chosen, *ranked]
    summary = {**with_projections.summary, "untrained_by_noise": records}
    frame = best_and_untrained(dataclasses.replace(with_projections, summary=summary)).frame.set_index("rate")
    assert dict(frame["untrained"]) == {0.0: pytest.approx(72), 0.4: pytest.approx(66)}
    assert frame.loc[0.0, "from"] == "frozen features, whitened, both views"
    assert frame.loc[0.4, "from"] == "frozen features, whitened, both views or LDA"
    assert dict(best_and_untrained(with_projections).frame.set_index("rate")["untrained"]) == {0.0: 75.0, 0.4: 70.0}


def test_a_network_that_trains_whole_is_compared_with_its_own_features(published):
    """The published study's other baselines are of pixels: whitening of the untrained network is a cell of it."""
    results = published("regime-cars-whole")
    frame = best_and_untrained(results).frame
    whitening = next(name for name in results.cells if "whitening" in name)
    assert frame["untrained"].item() == pytest.approx(results.values(whitening, "test/fine/map@r").mean())
    assert frame["from"].item() == "frozen features, whitened, both views"
