"""What to do: the table over all studies."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from synthetic import KEY, of_study, scoring

from dml.config.parts import MinerSection
from dml.report.analysis.untrained import gain_of_best
from dml.report.page.markdown import markdown
from dml.report.regimes import END, FILE, START, each_gain, regimes, with_regimes
from dml.report.sections.winners import winners

EASY = {0.0: [0.80, 0.82, 0.78], 0.4: [0.50, 0.51, 0.49]}  # the other method is worse
KINDS = {"net": 0.65, "net, 128 whitened": 0.70, "net, 64 whitened": 0.78, "net, whitened": 0.81}


@pytest.fixture
def results(synthetic, loaded):
    """A study that is tuned, with scores of easy positives, and baselines of several lengths."""

    def altered(frame):
        tuned = frame["phase"] == "tune"
        frame.loc[tuned, "objective"] = np.where(frame.loc[tuned, "positives"] == "easy", 0.9, 0.2)
        frame.loc[tuned, "validation/fine/recall@1"] = frame.loc[tuned, "objective"]
        scores = {("easy", at): own for at, own in EASY.items()}
        return scoring({("random", at): [0.1, 0.12, 0.11] for at in EASY} | scores, "positives", "rate")(frame)

    found = loaded(synthetic.small(), altered)
    training = found.study.training.__class__(embedding_size=128, search={"learning_rate": {"log_uniform": [1e-5, 1]}})
    alone = {"digits": {name: {KEY: score} for name, score in KINDS.items()}}
    return dataclasses.replace(of_study(found, training=training), summary={**found.summary, "untrained": alone})


@pytest.fixture
def table(tmp_path):
    """The table of these studies, with a row for each rate of the first."""

    def made(*studies):
        name = studies[0].study.name
        rows = [f"- {{case: Digits, study: {name}, noise: uniform, rate: {rate}}}\n" for rate in EASY]
        (tmp_path / FILE).write_text("".join(rows) + "- {study: absent}\n")
        return regimes(studies, tmp_path / FILE)

    return made


def test_gains_are_over_the_best_baseline_of_any_length_and_of_the_same(results, table):
    made = table(results)
    frame = made.frame
    assert list(frame["case"]) == ["Digits"] * 2
    for scores, row in zip(EASY.values(), frame.to_dict("records"), strict=True):
        values = 100 * np.array(scores) - 81
        low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
        said, *caveats = row["gain"].replace("\N{MINUS SIGN}", "-").split("], ")
        assert said.removesuffix("]") == f"{values.mean():+.1f} [{low:+.1f}, {high:+.1f}"
        assert ("chosen on correct labels" in str(caveats)) == (row["wrong"] != "none")
    assert list(frame["do"]) == ["whiten; for 128 dimensions train", "whiten"], "training is worse in the second"
    assert list(frame["free"]) == ["81.0", "81.0"]
    assert list(frame["trained"]) == ["80.0", "50.0"]
    assert all("easy" in row for row in frame["method"])
    kept = {"digits": {"net": {KEY: 0.8}, "net, whitened": {KEY: 0.7}}}
    rows = scoring({("easy", at): 0.8 + 1e-12 for at in EASY}, "positives", "rate")(results.trials.copy())
    as_free = dataclasses.replace(results, trials=rows, summary={**results.summary, "untrained": kept})
    assert list(table(as_free).frame["do"]) == ["frozen features as they are (no step of training helped)"] * 2
    text = markdown([made])
    assert "\n| Digits | 40% uniform | whiten |" in text
    assert text.endswith(made.limits)
    page = "\n".join(["text", START, text, END, "more"])
    assert with_regimes(f"a\n{START}\nold\n{END}\nb\n", page).count("| Digits |") == len(EASY)
    assert with_regimes("no place for it", page) == "no place for it"


def test_a_miner_that_is_told_the_true_labels_is_no_method_to_use(results):
    told = of_study(results, miner=MinerSection(name="dml.miners.oracle_pairs.OraclePairs"))
    assert winners(results) is not None
    assert list(each_gain(told)) == []
    assert winners(told) is None


def test_a_case_says_that_test_classes_chose_among_several(results, table):
    untuned = results.trials[results.trials["phase"] != "tune"]
    alone = untuned[untuned["positives"] == "easy"]
    shown = [
        set(table(dataclasses.replace(results, trials=rows)).frame["gain"].str.contains("best of several"))
        for rows in (results.trials, untuned, alone)
    ]
    assert shown == [{False}, {True}, {False}]


def test_no_closed_form_is_the_method_of_a_study_that_is_not_tuned(results, monkeypatch):
    untuned = dataclasses.replace(results, trials=results.trials[results.trials["phase"] != "tune"])
    found = gain_of_best(untuned, "digits", "uniform", 0.0, KEY)
    cell = results.cells[found.best]
    whitening = dataclasses.replace(cell, loss=dataclasses.replace(cell.loss, name="whitening"))
    monkeypatch.setitem(untuned.cells, found.best, whitening)
    other = gain_of_best(untuned, "digits", "uniform", 0.0, KEY)
    assert other.best != found.best
    assert other.gain.mean < found.gain.mean


def test_a_case_is_not_answered_by_a_method_that_is_told_the_rate(results, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.report.analysis.untrained.is_oracle", lambda cell: cell.positives == "easy")
    (tmp_path / FILE).write_text(f"- {{case: Digits, study: {results.study.name}, noise: uniform, rate: 0.0}}\n")
    assert list(regimes([results], tmp_path / FILE).frame["do"]) == ["whiten"]
