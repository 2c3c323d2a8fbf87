"""A study with earlier names of settings is the same study: the same cells, and trials with the same keys."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from dml.config import ConfigError, content_of, earlier_names, load_study, study_from
from dml.config.names import setting, spellings, written, written_setting
from dml.config.schema import schema
from dml.sweep.plan import keys, specs
from dml.types import InitFromSpec

ROOT = Path(__file__).parents[2]
EARLIER = """\
title: Every setting that has another name by now
datasets:
  - {source: digits, name: pairs, options: {seen_share: 0.3}}
  - source: numbers
    options: {size: 14}
noise:
  - {model: uniform, rates: [0.0, 0.2]}
  - {model: small_cluster, name: mine, rates: [0.2], settings: {size: 2}}
losses: [triplet, margin]
positives: [easy]
negatives: [random]
search: {sampler: fixed}
training:
  backbone: small_conv
  backbone_settings: {grid: 2}
  augment: random_resized_crop
  augment_settings: {image_size: 8}
  start: {study: other, cell: {loss: triplet, training.backbone_settings.width: 8}}
vary:
  training.backbone_settings.width: [8, 16]
  training.augment_settings: [{image_size: 6}, {image_size: 7}]
  both: [{training.start: null, loss.margin: 0.1}, {training.start: {path: a.pt}, loss.margin: 0.2}]
published:
  - {paper: eps, table: "1", labels: a, method: b, dataset: c, match: {training.backbone_settings.width: 8}}
compare:
  - text: Wider is better.
    first: {training.backbone_settings.width: 16, rate: 0.2, noise: uniform}
    second: {training.backbone_settings.width: 8, rate: 0.2, noise: uniform}
    where: {training.augment_settings: {image_size: 6}}
    each: [training.start]
report: {cells: {training.backbone_settings.width: 16}}
audit:
  dataset: pairs
  backbone: small_conv
  backbone_settings: {width: 4}
  looks: 20
"""
NOW = """\
title: Every setting that has another name by now
datasets:
  - {name: digits, id: pairs, settings: {seen_share: 0.3}}
  - name: numbers
    settings: {size: 14}
noise:
  - {name: uniform, rates: [0.0, 0.2]}
  - {name: small_cluster, id: mine, rates: [0.2], settings: {size: 2}}
losses: [triplet, margin]
positives: [easy]
negatives: [random]
search: {sampler: fixed}
training:
  backbone: {name: small_conv, settings: {grid: 2}}
  augment: {name: random_resized_crop, settings: {image_size: 8}}
  init_from: {study: other, cell: {loss: triplet, training.backbone.width: 8}}
grid:
  training.backbone.width: [8, 16]
  training.augment.settings: [{image_size: 6}, {image_size: 7}]
  both: [{training.init_from: null, loss.margin: 0.1}, {training.init_from: {path: a.pt}, loss.margin: 0.2}]
reference_values:
  - {paper: eps, table: "1", labels: a, method: b, dataset: c, match: {training.backbone.width: 8}}
compare:
  - text: Wider is better.
    first: {training.backbone.width: 16, rate: 0.2, noise: uniform}
    second: {training.backbone.width: 8, rate: 0.2, noise: uniform}
    where: {training.augment.settings: {image_size: 6}}
    each: [training.init_from]
report: {cells: {training.backbone.width: 16}}
audit:
  dataset: pairs
  backbone: {name: small_conv, settings: {width: 4}}
  review_size: 20
"""
PLAIN = "title: Plain\ndatasets: [digits]\nlosses: [triplet]\n"


@pytest.fixture
def write(tmp_path):
    """Writes a study's file, and returns its path."""

    def path_of(text: str, name: str = "mine"):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        return path

    return path_of


def _trials(study) -> dict[str, str]:
    """The key of a trial of each cell, by its name."""
    digests = {"packed": "a", "split": "b", "labels": "c"}
    return {
        cell.name: keys.key(specs.build(study, cell, "confirm", 0, {}, digests, lambda *asked: InitFromSpec("d", "")))
        for cell in study.cells()
    }


def test_earlier_names_make_the_same_study(write):
    earlier, now = load_study(write(EARLIER)), load_study(write(NOW))
    assert earlier == now
    assert earlier.digest == now.digest == "7156bc2b12ad81bd"
    assert [cell.columns for cell in earlier.cells()] == [cell.columns for cell in now.cells()]
    assert _trials(earlier) == _trials(now)
    assert len(_trials(now)) == 96


def test_the_schema_has_the_new_names_only():
    check = jsonschema.Draft202012Validator(schema())
    assert [error.message for error in check.iter_errors(yaml.safe_load(NOW))] == []
    assert not check.is_valid(yaml.safe_load(EARLIER))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "dml/cli/templates").glob("**/studies/*.yaml")), ids=lambda path: path.stem
)
def test_studies_of_new_projects_have_the_new_names(path):
    assert earlier_names(path) == []


def test_names_of_cells_are_those_of_earlier_results(write):
    cell = load_study(write(NOW)).cells()[0]
    assert list(cell.grid_point) == [
        "training.backbone_settings.width",
        "training.augment_settings",
        "training.start",
        "loss.margin",
    ]
    assert cell.dataset == "pairs"


def test_each_earlier_name_is_noted_once_with_its_line_and_the_new_one(write):
    path = write(EARLIER)
    found = dict(note.removeprefix(f"{path}:").split(": ", 1) for note in earlier_names(path))
    assert found["3"] == "datasets.options is now written datasets.settings"
    assert [note.partition(": ")[2] for note in earlier_names(path)] == [
        "vary is now written grid",
        "published is now written reference_values",
        "training.backbone_settings is now written training.backbone: {name, settings}",
        "training.augment_settings is now written training.augment: {name, settings}",
        "training.start is now written training.init_from",
        "audit.backbone_settings is now written audit.backbone: {name, settings}",
        "audit.looks is now written audit.review_size",
        "datasets.source is now written datasets.name",
        "datasets.name is now written datasets.id",
        "datasets.options is now written datasets.settings",
        "noise.model is now written noise.name",
        "noise.name is now written noise.id",
        "training.backbone_settings.width is now written training.backbone.width",
    ]
    assert earlier_names(write(NOW)) == []


@pytest.mark.parametrize(
    ("more", "line", "expected"),
    [
        ("grid: {}\nvary: {}", 5, "grid: `grid` and `vary` are two names of the same setting"),
        ("training: {start: null, init_from: null}", 4, "`start` and `init_from` are two names"),
        (
            "training:\n  backbone: {name: mlp, settings: {}}\n  backbone_settings: {}",
            5,
            "`backbone.settings` and `backbone_settings` are two names",
        ),
        ("noise: [{model: uniform, name: a, id: b}]", 4, "`name` and `id` are two names"),
        ("noise: [{name: uniform, model: uniform, id: b}]", 4, "`name` and `id` are two names"),
        ("audit: {looks: 3, review_size: 4}", 4, "`looks` and `review_size` are two names"),
        (
            "grid: {training.start: [null, {path: a}], training.init_from: [null, {path: b}]}",
            4,
            "`training.start` and `training.init_from` are two names",
        ),
        ("training:\n  backbone: {nam: mlp}", 5, r"training\.backbone\.nam: unknown key; did you mean 'name'"),
        ("grid:\n  training.backbone: [{name: mlp}, {nam: mlp}]", 5, "unknown key 'nam'; did you mean 'name'"),
        ("noise:\n  - {name: mine, rates: [0.2]}", 5, r"noise\[0\].*'mine'"),
        ("training: {backbon: mlp}", 4, "unknown key; did you mean 'backbone'"),
        ("training: {starts: mlp}", 4, "unknown key.*Choices: .*init_from"),
        ("grid: {training.backbone.wide: [1, 2]}", 4, "did you mean 'width'"),
        ("vary:\n  training.backbone.wide: [1, 2]", 5, r"grid\.training\.backbone\.wide\[0\]: .*did you mean 'width'"),
        ("compare: [{first: {training.init: 1}, second: {}}]", 4, "second"),
    ],
)
def test_what_is_no_name_is_refused_with_its_line(write, more, line, expected):
    with pytest.raises(ConfigError, match=rf"mine\.yaml:{line}: .*{expected}"):
        load_study(write(PLAIN + more))


def test_both_names_in_one_dataset_are_refused(write):
    text = PLAIN.replace("digits", "{name: digits, options: {}, settings: {}}")
    with pytest.raises(ConfigError, match=r"mine\.yaml:2: datasets\[0\]\.settings: `options` and `settings` are two"):
        load_study(write(text))


def test_a_study_may_extend_one_with_earlier_names(write):
    write(PLAIN + "training: {backbone: mlp, backbone_settings: {width: 4}}\nvary: {training.steps: [1, 2]}", "base")
    own = "extends: base\ntraining: {backbone: {settings: {image_size: 8}}}\ngrid: {training.steps: [1, 3]}"
    found = load_study(write(own))
    assert (found.training.backbone, found.training.backbone_settings) == ("mlp", {"width": 4, "image_size": 8})
    assert found.grid == {"training.steps": [1, 3]}
    other = load_study(write("extends: base\ntraining: {backbone: {name: small_conv, settings: null}}\n"))
    assert (other.training.backbone, other.training.backbone_settings) == ("small_conv", {})


def test_a_noise_with_an_id_only_is_uniform(write):
    found = load_study(write(PLAIN + "noise: [{id: again, rates: [0.2]}]"))
    assert (found.noise[0].name, found.cells()[0].noise) == ("uniform", "uniform:again")


def test_values_of_a_part_have_a_name_and_settings(write):
    varied = "grid: {training.backbone: [{name: mlp, settings: {width: 4}}, {name: small_conv, settings: {width: 8}}]}"
    found = load_study(write(PLAIN + varied))
    trainings = [found.training_of(cell) for cell in found.cells()]
    assert [(one.backbone, one.backbone_settings["width"]) for one in trainings] == [("mlp", 4), ("small_conv", 8)]


def test_names_of_the_code_are_read_as_they_are(write):
    content = content_of(write(NOW))
    assert {"grid", "training", "datasets"} <= set(content)
    assert content["datasets"][0] == {"name": "digits", "id": "pairs", "settings": {"seen_share": 0.3}}
    assert study_from(content, "mine") == load_study(write(NOW))


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("training.backbone.width", "training.backbone_settings.width"),
        ("training.backbone.settings", "training.backbone_settings"),
        ("training.backbone", "training.backbone"),
        ("training.augment.scale", "training.augment_settings.scale"),
        ("training.init_from", "training.start"),
        ("training.batch.per_class", "training.batch.per_class"),
        ("loss.margin", "loss.margin"),
    ],
)
def test_dotted_settings(file, code):
    assert setting(file) == setting(code) == code
    assert written_setting(code) == written_setting(file) == file


def test_locations_are_those_of_a_file():
    assert written(("grid", "training.start", 0)) == ["grid", "training.init_from", 0]
    assert written(("training", "backbone_settings", "width")) == ["training", "backbone", "settings", "width"]
    assert ("datasets", 0, "options", "root") in spellings(("datasets", 0, "settings", "root"))
    assert ("noise", 1, "name") in spellings(("noise", 1, "id"))
