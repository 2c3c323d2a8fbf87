"""`training.train_from` and `training.views`: what a study may say of them, and what decides such a trial."""

from __future__ import annotations

import pytest

from dml.config import ConfigError, load_study
from dml.sweep.inputs.extracting import frozen_trainings, stored_trainings
from dml.sweep.plan import keys, spec_json, specs
from dml.types import TrainingSpec

STUDY = """\
title: Stored activations
datasets: [digits]
losses: [triplet]
"""
DIGESTS = {"packed": "p", "split": "s", "labels": "l"}
CROPS = "augment: {name: random_resized_crop, settings: {image_size: 8}}"


def spec(study, cell=0):
    return specs.build(study, study.cells()[cell], "confirm", 0, {}, DIGESTS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "train_from: layers.4x",
            r"train_from: unknown block 'layers.4x'; did you mean 'layers.4'\? Choices: layers.0",
        ),
        ("train_from: layers.9", "train_from: no block from 'layers.9' on has weights to train"),
        (
            "train_from: x, backbone: identity",
            "train_from: the backbone Identity cannot be divided into blocks. Choices",
        ),
        ("train_from: layers.3, frozen: true", "frozen: with train_from, expected no frozen: frozen: true trains only"),
        (
            "train_from: layers.3, init_from: {path: a.pt}",
            "init_from: with train_from, expected no init_from: activations are comp",
        ),
        ("train_from: layers.3, channels_last: true", "channels_last: with train_from, expected no channels_last"),
        ("train_from: layers.3, workers: 2", "workers: with train_from, expected workers: 1"),
        (
            "train_from: layers.3, views: 2",
            "views: with augment: none all 2 would be the same: name another, or views: 1",
        ),
        (f"train_from: layers.3, views: 0, {CROPS}", "views: expected at least 1, got 0"),
        ("views: 2", "views: only stored activations have them: set train_from: <block>, or remove it"),
    ],
)
def test_what_cannot_work_is_one_message(study, settings, message):
    with pytest.raises(ConfigError, match=rf"mine\.yaml:4: training.*{message}"):
        study(f"training: {{{settings}}}")


def test_vectors_have_no_blocks(tmp_path):
    text = STUDY.replace("digits", "{name: features, settings: {vectors: x.npy, table: labels.csv}}")
    (tmp_path / "mine.yaml").write_text(text + "training: {train_from: layers.3}")
    with pytest.raises(ConfigError, match=r"source 'features' has vectors: .*with train_from, expected no frozen"):
        load_study(tmp_path / "mine.yaml")


def test_the_defaults_depend_on_the_augmentation(study):
    plain = spec(study("training: {train_from: layers.3}")).training
    assert (plain.views, plain.frozen_precision, plain.stored) == (1, "float16", True)
    cropped = spec(study(f"training: {{train_from: layers.3, {CROPS}}}")).training
    assert (cropped.views, cropped.frozen_precision) == (4, "float16")
    full = spec(study(f"training: {{train_from: layers.3, views: 2, frozen_precision: float32, {CROPS}}}")).training
    assert (full.views, full.frozen_precision) == (2, "float32")
    assert spec(study("")).training == TrainingSpec()


def test_a_key_contains_what_decides_the_trial(study):
    plain, below = keys.record(spec(study(""))), keys.record(spec(study("training: {train_from: layers.3}")))
    assert not {"train_from", "views"} & set(plain["spec"]["training"])
    own = {"train_from": "layers.3", "frozen_precision": "float16"}
    assert below["spec"]["training"] == {**plain["spec"]["training"], **own}
    assert below["versions"] == {**plain["versions"], "training.frozen": 1}
    texts = ("", CROPS, f"{CROPS}, views: 2", f"{CROPS}, frozen_precision: float32", "backbone: {settings: {width: 3}}")
    made = [keys.key(spec(study(f"training: {{train_from: layers.3, {text}}}"))) for text in texts]
    assert len({*made, keys.key(spec(study("training: {train_from: layers.6}")))}) == len(texts) + 1


def test_it_can_vary_and_the_features_it_starts_from_are_stored_too(study):
    varied = study("grid: {training.train_from: [null, layers.3, layers.6]}\ntraining: {learning_rate: 0.01}")
    assert [spec(varied, cell).training.train_from for cell in range(3)] == [None, "layers.3", "layers.6"]
    found = stored_trainings(varied, "digits")
    assert [training.train_from for training in found if not training.frozen] == ["layers.3", "layers.6"]
    (whole,) = {(one.train_from, one.views, one.frozen_precision) for one in frozen_trainings(varied, "digits")}
    assert whole == (None, 1, "float32")
    assert stored_trainings(study(""), "digits") == []


def test_an_audit_trains_no_network_from_a_block(study):
    with pytest.raises(ConfigError, match=r"audit.trained.*trains only the blocks from 'layers.3' on"):
        study("training: {train_from: layers.3}\naudit: {trained: true}")


def test_a_spec_survives_its_way_to_a_worker(study):
    made = spec(study(f"training: {{train_from: layers.3, {CROPS}}}"))
    assert spec_json.load(spec_json.dump(made)) == made
