"""`training.train_from` and `training.views`: what a study may say of them, and what decides such a trial."""

from dml.sweep.inputs.vectors import frozen_trainings, stored_trainings
from dml.sweep.plan import keys, specs
from dml.types import TrainingSpec

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}
CROPS = "augment: {name: random_resized_crop, settings: {image_size: 8}}"


def spec(study, cell=0):
    return specs.build(study, study.cells()[cell], "confirm", 0, {}, DIGESTS)


def test_the_defaults_depend_on_the_augmentation(study):
    plain = spec(study("training: {train_from: layers.3}")).training
    assert (plain.views, plain.frozen_precision, plain.stored) == (1, "float16", True)
    cropped = spec(study(f"training: {{train_from: layers.3, {CROPS}}}")).training
    assert (cropped.views, cropped.frozen_precision) == (4, "float16")
    assert spec(study("")).training == TrainingSpec()


def test_a_key_contains_what_decides_the_trial(study):
    plain, below = keys.record(spec(study(""))), keys.record(spec(study("training: {train_from: layers.3}")))
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
