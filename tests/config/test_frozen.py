"""`training.frozen`, `training.head` and sources of vectors: what a study may say of them."""

from __future__ import annotations

import dataclasses

import pytest

from dml import models
from dml.config import ConfigError
from dml.config.recorded import record, recorded
from dml.sweep.inputs.extracting import frozen_trainings
from dml.sweep.plan import keys, spec_json, specs

STUDY = """\
title: Frozen features
datasets: [{datasets}]
losses: [triplet]
"""
VECTORS = "{name: features, settings: {vectors: x.npy, table: labels.csv}}"
DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, cell=0):
    return specs.build(study, study.cells()[cell], "confirm", 0, {}, DIGESTS)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("augment: crop224", "augment: with frozen: true, expected augment: none: the features of each image"),
        ("init_from: {path: weights.pt}", "init_from: with frozen: true, expected no init_from: .*its settings"),
        ("channels_last: true", "channels_last: with frozen: true, expected no channels_last"),
        ("workers: 2", "workers: with frozen: true, expected workers: 1"),
    ],
)
def test_settings_that_have_no_effect_on_stored_features_are_refused(study, setting, message):
    with pytest.raises(ConfigError, match=rf"mine\.yaml:4: training: .*{message}"):
        study(f"training: {{frozen: true, {setting}}}")
    study(f"training: {{{setting}}}" if "workers" not in setting else "")


def test_the_precision_of_features_that_are_not_stored_is_refused(study):
    with pytest.raises(ConfigError, match="frozen_precision: only stored features have one"):
        study("training: {frozen_precision: float16}")


def test_an_unknown_head_lists_the_choices(study):
    with pytest.raises(ConfigError, match=r"head: .*linear.*mlp.*mpl"):
        study("training: {head: mpl}")
    with pytest.raises(ValueError, match="head: unknown name 'mpl'; did you mean 'mlp'"):
        models.build("small_conv", embedding_size=2, head="mpl")


def test_a_key_contains_what_decides_a_frozen_trial(study):
    plain, frozen = keys.record(spec(study(""))), keys.record(spec(study("training: {frozen: true}")))
    assert not {"frozen", "frozen_precision", "head"} & set(plain["spec"]["training"])
    assert frozen["spec"]["training"] == {**plain["spec"]["training"], "frozen": True}
    assert frozen["versions"] == {**plain["versions"], "training.frozen": 1}
    texts = (
        "",
        "backbone: mlp",
        "backbone: {settings: {width: 3}}",
        "augment: {settings: {image_size: 9}}",
        "head: mlp",
    )
    texts += ("precision: bfloat16", "frozen_precision: float16")
    made = [keys.key(spec(study(f"training: {{frozen: true, {text}}}"))) for text in texts]
    assert len(set(made)) == len(texts)


def test_each_different_network_of_a_study_has_features(study):
    varied = """
training: {frozen: true}
grid:
  training.backbone: [mlp, small_conv]
  training.embedding_size: [2, 3]
  training.head: [linear, mlp]
"""
    found = frozen_trainings(study(varied), "digits")
    assert {training.backbone for training in found} == {"mlp", "small_conv"}
    half = study("grid: {training.frozen: [false, true]}")
    assert [training.frozen for training in frozen_trainings(half, "digits")] == [True]
    assert frozen_trainings(study(""), "digits") == []


def test_vectors_are_passed_on_to_the_head(study):
    loaded = study("", VECTORS)
    training = spec(loaded).training
    assert (training.backbone, training.frozen) == ("identity", True)
    assert "models.identity" in keys.versions(spec(loaded))
    assert frozen_trainings(loaded, "features") == []
    study("training: {backbone: identity, frozen: true}", VECTORS)


def test_images_beside_vectors_keep_their_backbone(study):
    both = study("training: {backbone: mlp}", f"digits, {VECTORS}")
    assert [spec(both, cell).training.backbone for cell in (0, 1)] == ["mlp", "identity"]
    assert [spec(both, cell).training.frozen for cell in (0, 1)] == [False, True]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "training: {backbone: mlp}",
            "has vectors, on which only a head is trained: remove backbone 'mlp'.*'identity'",
        ),
        ("grid: {training.backbone: [identity, mlp]}", "remove backbone 'mlp'"),
        ("training: {frozen: false}", "remove frozen: false"),
        ("training: {augment: crop224}", "source 'features' has vectors: augment: with frozen: true"),
        (
            "evaluation: {keep_embeddings: true}\nreport: {figures: [retrieval]}",
            "report.figures.*'retrieval' shows images, of which source 'features' has none",
        ),
    ],
)
def test_what_vectors_do_not_have_is_refused(study, more, message):
    with pytest.raises(ConfigError, match=message):
        study(more, VECTORS)


def test_images_settings_of_vectors_are_refused(study):
    with pytest.raises(ConfigError, match="source 'features' has no images: remove resize, on_corrupt"):
        study("", VECTORS[:-1] + ", resize: 32, on_corrupt: skip}")


def test_a_study_of_vectors_says_what_it_trains_and_comes_back_as_it_ran(study):
    made = study("recipe: head", VECTORS)
    training = made.training_of(made.cells()[0])
    assert (training.backbone, training.frozen) == ("identity", True)
    assert spec(made).training.backbone == "identity"
    assert recorded(record(made), made) == made


@pytest.mark.parametrize("recipe", ["recipe: finetune", "recipe: partial\ntraining: {train_from: layers.3}"])
def test_vectors_have_no_network_to_train(study, recipe):
    with pytest.raises(ConfigError, match="has vectors, and no network to train: expected head, got"):
        study(recipe, VECTORS)


def test_a_spec_survives_its_way_to_a_worker(study):
    made = spec(study("training: {frozen: true, head: mlp, frozen_precision: float16}"))
    assert spec_json.load(spec_json.dump(made)) == made
    assert dataclasses.asdict(made)["training"]["head"] == "mlp"
