"""What tuned training gains: the first table of the index."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from synthetic import KEY, of_study, scoring

from dml.config import MinerSection
from dml.report.gains import gains
from dml.report.page.markdown import markdown
from dml.report.regimes import END, FILE, START, regimes, with_regimes
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
        return scoring({("random", at): 0.1 for at in EASY} | scores, "positives", "rate")(frame)

    found = loaded(synthetic.small(), altered)
    training = found.study.training.__class__(embedding_size=128, search={"learning_rate": {"log_uniform": [1e-5, 1]}})
    alone = {"digits": {name: {KEY: score} for name, score in KINDS.items()}}
    return dataclasses.replace(of_study(found, training=training), summary={**found.summary, "untrained": alone})


def test_gains_are_over_the_best_baseline_of_the_same_length_and_of_any(results):
    frame = gains([results]).frame
    assert list(frame["noise"]) == ["none", "40% uniform noise"]
    for (at, scores), row in zip(EASY.items(), frame.to_dict("records"), strict=True):
        assert "easy" in row["use"]
        for column, baseline in (("same", 70), ("any", 81)):
            values = 100 * np.array(scores) - baseline
            low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
            said = row[column].replace("\N{MINUS SIGN}", "-")
            assert said == f"{values.mean():+.1f} [{low:+.1f}, {high:+.1f}]", at
    assert [row.partition(",")[0] for row in frame["sure"]] == ["better", "worse"]


def test_a_miner_that_is_told_the_true_labels_is_no_method_to_use(results):
    miner = MinerSection(name="dml.miners.oracle_pairs.OraclePairs")
    told = of_study(results, miner=miner)
    assert winners(results) is not None
    assert gains([told]) is None
    assert winners(told) is None


@pytest.mark.parametrize(("flags", "same"), [("", 1), ("still rising", 0)])
def test_a_row_with_a_flag_is_not_counted_as_better(results, monkeypatch, flags, same):
    monkeypatch.setattr("dml.report.gains.doubts", lambda *about: flags)
    assert f"in {same} of 1 row without wrong labels, and in 0 of 1 row with them" in gains([results]).lead


def test_studies_that_are_not_tuned_or_have_no_baseline_have_no_row(results):
    search = results.study.search.model_copy(update={"sampler": "fixed"})
    alone = dataclasses.replace(results, summary={**results.summary, "untrained": {}})
    assert gains([of_study(results, search=search), alone]) is None


def test_a_case_has_the_gains_of_its_study(results, tmp_path):
    cases = tmp_path / FILE
    cases.write_text(
        "".join(f"- {{case: Digits, study: {results.study.name}, noise: uniform, rate: {rate}}}\n" for rate in EASY)
        + "- {study: absent}\n"
    )
    frame = regimes([results], cases).frame
    of_study = gains([results]).frame
    assert [text.removesuffix(", still rising") for text in frame["gain"]] == list(of_study["any"])
    assert list(frame["case"]) == ["Digits"] * 2
    short, cheap = frame["do"]
    assert short.startswith("whiten; for 128 dimensions train: ")
    assert "easy" in short
    assert cheap == "whiten", "training is worse there"
    text = markdown([regimes([results], cases)])
    assert "\n| Digits | 40% uniform, chosen on correct labels |" in text
    assert text.endswith(regimes([results], cases).limits)
    page = "\n".join(["text", START, text, END, "more"])
    assert with_regimes(f"a\n{START}\nold\n{END}\nb\n", page).count("| Digits |") == len(EASY)
    assert with_regimes("no place for it", page) == "no place for it"


def test_a_case_is_not_answered_by_a_method_that_is_told_the_rate(results, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.report.analysis.untrained.is_oracle", lambda cell: cell.positives == "easy")
    (tmp_path / FILE).write_text(f"- {{case: Digits, study: {results.study.name}, noise: uniform, rate: 0.0}}\n")
    assert list(regimes([results], tmp_path / FILE).frame["do"]) == ["whiten"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{case: Digits, study: STUDY, rate: 0.4}", "lacks 'noise'"),
        ("{case: Digits, study: STUDY, noise: uniform, rate: 0.3}", "has no gain of uniform noise at rate 0.3"),
    ],
)
def test_a_case_that_no_study_answers_is_refused(results, tmp_path, row, message):
    (tmp_path / FILE).write_text(f"- {row.replace('STUDY', results.study.name)}\n")
    with pytest.raises(ValueError, match=message):
        regimes([results], tmp_path / FILE)
