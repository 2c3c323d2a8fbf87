"""Frozen features and stored activations: what a study may say of them, and what decides such a trial."""

from dml.config.loading import record, recorded
from dml.sweep.inputs.vectors import frozen_trainings, stored_trainings
from dml.sweep.plan import keys, specs
from dml.types import TrainingSpec

VECTORS = "{name: features, settings: {vectors: x.npy, table: labels.csv}}"
DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, cell=0):
    return specs.build(study, study.cells()[cell], "confirm", 0, {}, DIGESTS)


def test_a_key_contains_what_decides_a_frozen_trial(study):
    plain, frozen = keys.record(spec(study(""))), keys.record(spec(study("training: {frozen: true}")))
    assert not {"frozen", "frozen_precision", "head"} & set(plain["spec"]["training"])
    assert frozen["spec"]["training"] == {**plain["spec"]["training"], "frozen": True}
    assert frozen["versions"] == {**plain["versions"], "training.frozen": 1}
    texts = ("", "backbone: mlp", "backbone: {settings: {width: 3}}", "augment: {settings: {image_size: 9}}")
    texts += ("precision: bfloat16",)
    made = [keys.key(spec(study(f"training: {{frozen: true, {text}}}"))) for text in texts]
    assert len(set(made)) == len(texts)


def test_each_different_network_of_a_study_has_features(study):
    varied = """
training: {frozen: true}
grid:
  training.backbone: [mlp, small_conv]
  training.embedding_size: [2, 3]
"""
    found = frozen_trainings(study(varied), "digits")
    assert {training.backbone for training in found} == {"mlp", "small_conv"}
    half = study("grid: {training.frozen: [false, true]}")
    assert [training.frozen for training in frozen_trainings(half, "digits")] == [True]
    assert frozen_trainings(study(""), "digits") == []


def test_a_study_of_vectors_says_what_it_trains_and_comes_back_as_it_ran(study):
    made = study("recipe: head", VECTORS)
    training = made.training_of(made.cells()[0])
    assert (training.backbone, training.frozen) == ("identity", True)
    assert spec(made).training.backbone == "identity"
    assert recorded(record(made), made) == made


CROPS = "augment: {name: random_resized_crop, settings: {image_size: 8}}"


def test_the_defaults_depend_on_the_augmentation(study):
    plain = spec(study("training: {train_from: layers.3}")).training
    assert (plain.views, plain.frozen_precision, plain.stored) == (1, "float16", True)
    cropped = spec(study(f"training: {{train_from: layers.3, {CROPS}}}")).training
    assert (cropped.views, cropped.frozen_precision) == (4, "float16")
    assert spec(study("")).training == TrainingSpec()


def test_a_key_contains_what_decides_the_trial(study):
    plain, below = (keys.record(spec(study(""))), keys.record(spec(study("training: {train_from: layers.3}"))))
    assert not {"train_from", "views"} & set(plain["spec"]["training"])
    own = {"train_from": "layers.3", "frozen_precision": "float16"}
    assert below["spec"]["training"] == {**plain["spec"]["training"], **own}
    assert below["versions"] == {**plain["versions"], "training.frozen": 1}
    texts = ("", CROPS, f"{CROPS}, views: 2", "backbone: {settings: {width: 3}}")
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
