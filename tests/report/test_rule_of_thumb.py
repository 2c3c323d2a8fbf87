"""The rule of thumb: what it chooses, its gain and regret, and its tests on other studies."""

import numpy as np
import pytest

from dml.config import load_study
from dml.report.analysis.factorial import Crossed
from dml.report.analysis.rule import applied, ranking, regrets, with_rule_tests
from dml.report.sections.rule_of_thumb import RuleOfThumb

LEVELS = {"loss": ("a", "b", "c"), "positives": ("p", "q"), "negatives": ("x", "y", "z")}


def test_it_takes_the_best_choice_that_a_study_has():
    scores = np.zeros((3, 2, 3, 2, 2))
    scores[2] += 5  # loss c
    scores[0] += 3
    scores[:, 1] += 1  # positives q
    ranked = ranking([Crossed("toys", "uniform", LEVELS, (0.0, 0.4), (0, 1), scores)], 0.3)  # 0.4 is the nearest rate
    assert ranked["loss"] == ["c", "a", "b"]
    assert ranked["positives"][0] == "q"
    levels = {"loss": ("b", "a"), "positives": ("p", "new"), "negatives": ("only",)}
    values = np.random.default_rng(6).normal(size=(2, 2, 1, 1, 3))
    other = Crossed("others", "uniform", levels, (0.2,), (0, 1, 2), values)
    choice, mine, cells = applied({"loss": ["c", "a", "b"], "positives": ["q"]}, other, 0.2)
    assert choice == {"loss": "a"}
    np.testing.assert_allclose(mine, values[1, :, 0, 0].mean(axis=0))  # positives that the rule does not know
    assert cells.shape == (4, 3)


def test_the_effect_that_decides_is_that_of_the_same_noise_rate():
    scores = np.zeros((3, 2, 3, 2, 2))
    scores[0, ..., 0, :] += 1
    scores[1, ..., 1, :] += 1
    block = Crossed("toys", "uniform", LEVELS, (0.0, 0.4), (0, 1), scores)
    assert [ranking([block], rate)["loss"][0] for rate in (0.0, 0.4)] == ["a", "b"]


def test_regret_does_not_count_luck():
    rng, found, naive = np.random.default_rng(7), [], []
    for _ in range(400):
        cells = rng.normal(size=(30, 4))  # all cells are equally good: no choice can be regretted
        found.append(regrets(cells[0], cells).mean())
        naive.append(cells.mean(axis=1).max() - cells[0].mean())
    assert np.mean(found) == pytest.approx(0, abs=0.1)
    assert np.mean(naive) > 0.9


def test_regret_against_a_loop():
    cells = np.random.default_rng(8).normal(size=(6, 3))
    for seed, found in enumerate(regrets(cells[2], cells)):
        others = [s for s in range(3) if s != seed]
        best = max(range(6), key=lambda c: np.mean([cells[c, s] for s in others]))
        assert found == pytest.approx(cells[best, seed] - cells[2, seed])


def test_it_is_tested_on_the_studies_that_it_names(synthetic, loaded):
    report = synthetic.ReportSection.model_validate({"rule": {"test": ["other", "absent"]}})
    mine = loaded(synthetic.study("mine", report=report))
    other = loaded(synthetic.study("other", losses=["margin", "contrastive"]))
    mine, other = with_rule_tests([mine, other])
    assert {(test.study, test.rate) for test in mine.rule_tests} == {("other", rate) for rate in (0.0, 0.2, 0.4)}
    assert not other.rule_tests
    noisy = mine.rule_tests[-1]
    assert noisy.choice["positives"] == "easy"
    assert noisy.gain.low > 0
    assert noisy.better > 0.5
    assert RuleOfThumb().applies(mine)
    assert not RuleOfThumb().applies(other)
    text, lacking, table = filter(None, RuleOfThumb().content(mine))
    assert "At 40% noise" in text.text
    assert "absent" in lacking.text
    assert len(table.frame) == 3


def test_a_rule_cannot_be_tested_on_its_own_study(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: x\ndatasets: [digits]\nlosses: [softmax]\nreport: {rule: {test: [mine]}}\n")
    with pytest.raises(ValueError, match="which the rule is made from"):
        load_study(path)
