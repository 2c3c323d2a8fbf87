"""`grid`: any setting of training, miner and loss as an axis; and `extends`."""

import pytest

from dml.config import ConfigError, content_of, load_study
from dml.sweep.plan import keys, specs
from dml.sweep.plan.space import space_of

STUDY = """
title: Two settings
datasets: [digits]
losses: [triplet, histogram]
positives: [easy]
negatives: [random, multi_similarity]
seeds: [0]
search: {sampler: fixed}
"""


def test_cells_are_the_product_of_the_axes(study):
    plain = study("")
    crossed = study("grid: {training.steps: [10, 20], training.batch.per_class: [2, 4, 8]}")
    assert len(crossed.cells()) == 6 * len(plain.cells())
    assert len({cell.name for cell in crossed.cells()}) == 6 * len(plain.cells())
    name = crossed.cells()[0].name
    assert name == f"{plain.cells()[0].name}|training.steps=10,training.batch.per_class=2"
    found = {(t.steps, t.batch.per_class) for t in map(crossed.training_of, crossed.cells())}
    assert found == {(steps, size) for steps in (10, 20) for size in (2, 4, 8)}


def test_settings_of_a_section_move_together(study):
    both = study("grid: {training.batch: [{classes: 8, per_class: 2}, {classes: 4, per_class: 4}]}")
    batches = {(t.batch.classes, t.batch.per_class) for t in map(both.training_of, both.cells())}
    assert batches == {(8, 2), (4, 4)}


def test_settings_of_several_sections_move_together(study):
    two = study("grid: {size: [{training.steps: 5, loss.margin: 0.1}, {training.steps: 7, loss.margin: 0.3}]}")
    triplets = [cell for cell in two.cells() if cell.loss.name == "triplet"]
    assert {(two.training_of(c).steps, c.grid_point["loss.margin"]) for c in triplets} == {(5, 0.1), (7, 0.3)}


def test_only_losses_with_a_setting_have_variants(study):
    cells = study("grid: {loss.bins: [11, 51]}").cells()
    assert [dict(cell.grid_point) for cell in cells if cell.loss.name == "triplet"] == [{}, {}]
    histograms = [cell for cell in cells if cell.loss.name == "histogram"]
    assert {cell.grid_point["loss.bins"] for cell in histograms} == {11, 51}


def test_only_policies_with_a_setting_have_variants(study):
    cells = study("grid: {miner.epsilon: [0.1, 0.2]}").cells()
    taken = {(cell.negatives, cell.grid_point.get("miner.epsilon")) for cell in cells if cell.loss.name == "triplet"}
    assert taken == {("random", None), ("multi_similarity", 0.1), ("multi_similarity", 0.2)}


def _keys(study) -> dict[str, str]:
    digests = {"packed": "a", "split": "b", "labels": "c"}
    return {cell.name: keys.key(specs.build(study, cell, "confirm", 0, {}, digests)) for cell in study.cells()}


@pytest.mark.parametrize(
    ("grid", "plain"),
    [
        ("training.steps: [10, 20]", "training: {steps: 20}"),
        ("training.batch.per_class: [2, 8]", "training: {batch: {per_class: 8}}"),
        ("training.backbone.width: [4, 8]", "training: {backbone: {settings: {width: 8}}}"),
        ("miner.epsilon: [0.3, 0.2]", "miner: {settings: {epsilon: 0.2}}"),
    ],
)
def test_a_trial_of_a_grid_has_the_key_of_the_same_trial_elsewhere(study, grid, plain):
    assert set(_keys(study(plain)).values()) <= set(_keys(study(f"grid: {{{grid}}}")).values())
    assert len(set(_keys(study(f"grid: {{{grid}}}")).values())) > len(set(_keys(study(plain)).values()))


def test_a_varied_setting_of_a_loss_reaches_its_trials_and_is_not_searched(study):
    crossed = study("grid: {loss.margin: [0.1, 0.4]}")
    cell = next(c for c in crossed.cells() if c.grid_point.get("loss.margin") == 0.4)
    built = specs.build(crossed, cell, "confirm", 0, {}, {"packed": "", "split": "", "labels": ""})
    assert built.loss.settings == {"margin": 0.4}
    searching = crossed.model_copy(update={"search": crossed.search.model_copy(update={"sampler": "tpe"})})
    assert "loss.margin" not in space_of(searching, cell)
    plain = study("")
    searching = plain.model_copy(update={"search": plain.search.model_copy(update={"sampler": "tpe"})})
    assert "loss.margin" in space_of(searching, plain.cells()[0])


def test_values_need_to_be_valid_only_in_their_combinations(study):
    """The study's own backbone does not take the setting that varies; those that it varies with do."""
    both = study("grid: {training.backbone: [timm, torchvision], training.backbone.name: [resnet18, resnet34]}")
    found = {(t.backbone, t.backbone_settings["name"]) for t in map(both.training_of, both.cells())}
    assert len(found) == 4


def test_a_rate_that_yaml_reads_as_text_is_a_number(study):
    cells = study("grid: {training.learning_rate: [1e-3, 1e-2]}").cells()
    assert {cell.grid_point["training.learning_rate"] for cell in cells} == {0.001, 0.01}
    with pytest.raises(ConfigError, match="expected at least two values, each once"):
        study("grid: {training.learning_rate: [1e-3, 0.001]}", name="same")


class TestExtends:
    def test_takes_all_settings_and_merges_mappings(self, study, tmp_path):
        study("training: {steps: 7, batch: {classes: 5}}", name="base")
        path = tmp_path / "more.yaml"
        path.write_text("extends: base\ntitle: More\nseeds: [0, 1, 2]\ntraining: {batch: {per_class: 9}}\n")
        found = load_study(path)
        assert (found.title, found.seeds, found.name) == ("More", [0, 1, 2], "more")
        batch = found.training.batch
        assert (found.training.steps, batch.classes, batch.per_class) == (7, 5, 9)
        assert content_of(path)["training"] == {"steps": 7, "batch": {"classes": 5, "per_class": 9}}

    def test_null_restores_a_default(self, study):
        study("training: {steps: 7}", name="base")
        found = study(text="extends: base\ntraining: {steps: null}\npositives: null\nnegatives: null\n", name="more")
        assert (found.training.steps, found.positives) == (500, [])

    def test_an_error_names_the_file_that_has_it(self, tmp_path):
        (tmp_path / "base.yaml").write_text("title: x\ndatasets: [digits]\nlosses: [triplet]\ntraining:\n  stepz: 5\n")
        path = tmp_path / "more.yaml"
        path.write_text("extends: base\ntraining:\n  batch: {clases: 5}\n")
        with pytest.raises(ConfigError) as caught:
            load_study(path)
        first, second = sorted(str(caught.value).splitlines())
        assert first.startswith(f"{tmp_path / 'base.yaml'}:5: training.stepz: unknown key")
        assert second.startswith(f"{path}:3: training.batch.clases: unknown key")
