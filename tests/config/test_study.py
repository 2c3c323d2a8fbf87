"""A study's YAML: the cells that it gives, and for each mistake an error with file, line, key, value and choices."""

from pathlib import Path

import pytest

from dml.config import ConfigError, Study, load_study
from dml.types import Choice, LogUniform, Uniform

GOOD = """\
title: A study
datasets: [digits]
losses: [triplet, proxy_nca]
positives: [random, easy]
negatives: [random, hard]
noise:
  - {name: uniform, rates: [0.0, 0.3]}
seeds: [0, 1]
"""


def load(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_study(path)


def test_each_admissible_combination_is_one_cell(tmp_path):
    cells = load(tmp_path, GOOD).cells()
    triplet = [c for c in cells if c.loss.name == "triplet"]
    proxy = [c for c in cells if c.loss.name == "proxy_nca"]
    assert len(triplet) == 2 * 2 * 2
    assert len(proxy) == 2, "a loss that ignores tuples is one cell per rate, whatever the policies"
    assert all(c.positives is None for c in proxy)
    assert len({c.name for c in cells}) == len(cells) == 10


def test_a_loss_brings_its_own_search_space_unless_the_study_gives_one(tmp_path):
    text = GOOD.replace(
        "[triplet, proxy_nca]",
        "[{name: triplet, search: {margin: {log_uniform: [0.01, 1]}}}, {name: margin, settings: {beta: 1.0}}]",
    )
    triplet, margin = (loss.part() for loss in load(tmp_path, text).losses)
    assert triplet.search == {"margin": LogUniform(0.01, 1.0)}
    assert "beta" not in margin.search
    assert margin.search, "settings that the study does not fix are searched in the loss's own space"


def test_the_terms_of_a_search_space(tmp_path):
    text = GOOD + "training: {search: {learning_rate: {log_uniform: [1.0e-5, 1.0e-2]}, steps: {choice: [100, 200]}}}\n"
    assert load(tmp_path, text).training.search == {
        "learning_rate": LogUniform(1e-5, 1e-2),
        "steps": Choice((100, 200)),
    }
    assert Uniform(0, 1) != LogUniform(0, 1)


def test_a_study_may_evaluate_the_untrained_network_and_the_training_images(tmp_path):
    study = load(tmp_path, GOOD + "training: {steps: 0}\nevaluation: {sets: [train, test]}\n")
    assert study.training.spec().steps == 0
    assert study.evaluation.spec("confirm").sets == ("train", "test")
    assert study.evaluation.spec("tune").sets == ("validation",)


def test_multi_similarity_mining_takes_a_negative_epsilon(tmp_path):
    text = GOOD.replace("[random, easy]", "[multi_similarity]").replace("[random, hard]", "[multi_similarity]")
    assert load(tmp_path, text + "miner: {settings: {epsilon: -0.02}}\n").miner.settings == {"epsilon": -0.02}
    with pytest.raises(ConfigError, match=r"mine\.yaml:9: miner\.settings\.epsilon: expected a finite number, got nan"):
        load(tmp_path, text + "miner: {settings: {epsilon: .nan}}\n")


def test_a_key_given_twice_in_an_extended_study_is_reported_with_its_file(tmp_path):
    (tmp_path / "base.yaml").write_text(GOOD + "seeds: [3]\n")
    with pytest.raises(ConfigError, match=r"base\.yaml:9: seeds: this key is given twice, in lines 8 and 9"):
        load(tmp_path, "extends: base\n")


def test_another_search_space_than_the_extended_studys_takes_that_back(tmp_path):
    (tmp_path / "base.yaml").write_text(
        GOOD + "training: {search: {learning_rate: {log_uniform: [0.001, 0.01]}}}\n", encoding="utf-8"
    )
    other = "extends: base\ntraining: {search: {learning_rate: {choice: [0.1]TAKEN}}}\n"
    with pytest.raises(ConfigError, match=r"got log_uniform and choice.*\{log_uniform: null, choice: \[\.\.\.\]\}"):
        load(tmp_path, other.replace("TAKEN", ""))
    found = load(tmp_path, other.replace("TAKEN", ", log_uniform: null"))
    assert found.training.search["learning_rate"].options == (0.1,)


def test_null_for_a_search_that_the_extended_study_lacks_says_so(tmp_path):
    (tmp_path / "base.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml:2: training\.search\.weight_decay: .*it has nothing here"):
        load(tmp_path, "extends: base\ntraining: {search: {weight_decay: null}}\n")


def test_hierarchical_batches_are_for_data_with_coarse_labels(tmp_path):
    text = GOOD.replace("seeds:", "training: {batch: {sampler: hierarchical}}\nseeds:")
    assert load(tmp_path, text).training.batch.sampler == "hierarchical"


@pytest.mark.parametrize("loss", ["softmax", "proxy_nca"])
@pytest.mark.parametrize("batch", ["{classes: 1}", "{per_class: 1}"])
def test_a_loss_on_single_samples_takes_any_batch(tmp_path, loss, batch):
    rest = f"datasets: [digits]\ntraining: {{batch: {batch}}}\n"
    assert load(tmp_path, f"title: A\nlosses: [{loss}]\n{rest}").cells()
    for other in ("triplet", "lifted_hinge"):
        with pytest.raises(ConfigError, match=f"which the loss '{other}' needs"):
            load(tmp_path, f"title: A\nlosses: [{loss}, {other}]\n{rest}")


@pytest.mark.parametrize(
    "mined",
    ["positives: [random]\nnegatives: [random]", "miner: {name: pytorch_metric_learning.miners.BatchHardMiner}"],
)
def test_whether_a_loss_of_another_package_compares_samples_is_known_only_if_tuples_are_mined(tmp_path, mined):
    if "pytorch" in mined:
        pytest.importorskip("pytorch_metric_learning")
    text = "title: A\nlosses: [dml.losses.contrastive.Contrastive]\ndatasets: [digits]\n"
    text += "training: {batch: {per_class: 1}}\n"
    assert load(tmp_path, text).cells()
    with pytest.raises(ConfigError, match=r"per_class is 1: such a batch has no positive pair"):
        load(tmp_path, text + mined)


def test_a_source_of_another_package_may_have_labels_as_given(tmp_path):
    text = GOOD.replace("[digits]", "[{name: dml.data.sources.digits.Digits, id: own}]")
    assert load(tmp_path, text.replace("{name: uniform, rates: [0.0, 0.3]}", "{name: given, rates: [0.3]}")).cells()


def test_sources_of_two_packages_have_folders_of_their_own(tmp_path):
    text = GOOD.replace("[digits]", "[digits, {name: dml.data.sources.digits.Digits, id: own}]")
    assert len({dataset.raw.casefold() for dataset in load(tmp_path, text).datasets}) == 2


def test_random_batches_may_be_described_by_one_class_or_one_sample(tmp_path):
    for batch in ("{sampler: random, classes: 1}", "{sampler: random, per_class: 1}"):
        assert load(tmp_path, GOOD.replace("seeds:", f"training: {{batch: {batch}}}\nseeds:")).cells()


def test_an_unknown_study_lists_the_choices(tmp_path):
    (tmp_path / "quickstart.yaml").write_text(GOOD)
    with pytest.raises(ConfigError, match="did you mean 'quickstart'"):
        load_study(tmp_path / "quikstart.yaml")
