"""A study's YAML: the cells that it gives, and for each mistake an error with file, line, key, value and choices."""

import pytest

from dml.config import ConfigError
from dml.types import LogUniform

STUDY = """\
title: A study
datasets: [digits]
losses: [triplet, proxy_nca]
positives: [random, easy]
negatives: [random, hard]
noise:
  - {name: uniform, rates: [0.0, 0.3]}
seeds: [0, 1]
"""


def test_each_admissible_combination_is_one_cell(study):
    cells = study().cells()
    triplet = [c for c in cells if c.loss.name == "triplet"]
    proxy = [c for c in cells if c.loss.name == "proxy_nca"]
    assert len(triplet) == 2 * 2 * 2
    assert len(proxy) == 2, "a loss that ignores tuples is one cell per rate, whatever the policies"
    assert all(c.positives is None for c in proxy)
    assert len({c.name for c in cells}) == len(cells) == 10


def test_a_loss_brings_its_own_search_space_unless_the_study_gives_one(study):
    text = STUDY.replace(
        "[triplet, proxy_nca]",
        "[{name: triplet, search: {margin: {log_uniform: [0.01, 1]}}}, {name: margin, settings: {beta: 1.0}}]",
    )
    triplet, margin = (loss.part() for loss in study(text=text).losses)
    assert triplet.search == {"margin": LogUniform(0.01, 1.0)}
    assert "beta" not in margin.search
    assert margin.search, "settings that the study does not fix are searched in the loss's own space"


def test_a_key_given_twice_in_an_extended_study_is_reported_with_its_file(study, tmp_path):
    (tmp_path / "base.yaml").write_text(STUDY + "seeds: [3]\n")
    with pytest.raises(ConfigError, match=r"base\.yaml:9: seeds: this key is given twice, in lines 8 and 9"):
        study(text="extends: base\n")


def test_hierarchical_batches_are_for_data_with_coarse_labels(study):
    text = STUDY.replace("seeds:", "training: {batch: {sampler: hierarchical}}\nseeds:")
    assert study(text=text).training.batch.sampler == "hierarchical"


@pytest.mark.parametrize("loss", ["softmax", "proxy_nca", "{name: trimmed, settings: {loss: softmax}}"])
@pytest.mark.parametrize("batch", ["{classes: 1}", "{per_class: 1}"])
def test_a_loss_on_single_samples_takes_any_batch(study, loss, batch):
    rest = f"datasets: [digits]\ntraining: {{batch: {batch}}}\n"
    assert study(text=f"title: A\nlosses: [{loss}]\n{rest}").cells()
    for other in ("triplet", "lifted_hinge"):
        with pytest.raises(ConfigError, match=f"which the loss '{other}' needs"):
            study(text=f"title: A\nlosses: [{loss}, {other}]\n{rest}")


def test_random_batches_may_be_described_by_one_class_or_one_sample(study):
    for batch in ("{sampler: random, classes: 1}", "{sampler: random, per_class: 1}"):
        assert study(text=STUDY.replace("seeds:", f"training: {{batch: {batch}}}\nseeds:")).cells()
