"""`training.frozen` and sources of vectors: what a study may say of them."""

from dml.config.loading import record, recorded
from dml.sweep.inputs.vectors import frozen_trainings
from dml.sweep.plan import keys, specs

VECTORS = "{name: features, settings: {vectors: x.npy, table: labels.csv}}"
DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, cell=0):
    return specs.build(study, study.cells()[cell], "confirm", 0, {}, DIGESTS)


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
    )
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
