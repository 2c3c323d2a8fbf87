"""The names of settings in a file, in cells and in digests."""

import jsonschema
import pytest
import yaml

from dml.config import ConfigError, load_study
from dml.config.errors import setting, written_setting
from dml.config.schema import schema

NOW = """\
title: Every setting that has another name in digests
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


def test_the_digest_has_the_first_names(write):
    assert load_study(write(NOW)).digest == "7156bc2b12ad81bd"


def test_the_schema_has_the_names_of_a_file():
    check = jsonschema.Draft202012Validator(schema())
    assert [error.message for error in check.iter_errors(yaml.safe_load(NOW))] == []


def test_names_of_cells_are_those_of_earlier_results(write):
    cell = load_study(write(NOW)).cells()[0]
    assert list(cell.grid_point) == [
        "training.backbone_settings.width",
        "training.augment_settings",
        "training.start",
        "loss.margin",
    ]
    assert cell.dataset == "pairs"


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


def test_a_short_name_is_the_setting_wherever_it_is_written(write):
    searched = "training: {{search: {{{}: {{choice: [whitening, lda]}}}}}}\nsearch: {{sampler: grid, trials: 2}}"
    files = [
        "training: {{{}: whitening}}",
        "grid: {{training.{}: [null, whitening]}}",
        searched,
    ]
    for file in files:
        short, whole = (load_study(write(PLAIN + file.format(name))) for name in ("refit", "head_refit"))
        assert short == whole
    for line, both in [
        (5, "training:\n  refit: lda\n  head_refit: whitening"),
        (6, "training:\n  search:\n    refit: {choice: [lda]}\n    head_refit: {choice: [lda]}"),
        (5, "grid:\n  training.refit: [lda]\n  training.head_refit: [lda]"),
    ]:
        with pytest.raises(ConfigError, match=rf"mine\.yaml:{line}: .*two values for one setting: .*refit"):
            load_study(write(PLAIN + both))
    with pytest.raises(ConfigError, match=r"mine\.yaml:6: .*'whitening' or 'lda', got 'whiten'"):
        load_study(write(PLAIN + "training:\n  steps: 1\n  refit: whiten"))
