"""From cells to specs, and specs as JSON."""

from dml.sweep.plan import spec_json, specs
from dml.types import LossSpec, MinerSpec

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def spec(study, phase="tune", settings=None):
    return specs.build(study, study.cells()[0], phase, 0, settings or {}, DIGESTS)


def test_settings_are_filled_into_their_rooms(toy_study):
    built = spec(
        toy_study(miner={"settings": {"margin": 0.3}}),
        settings={"loss.margin": 0.25, "miner.cutoff": 0.4, "training.learning_rate": 0.01},
    )
    assert built.loss == LossSpec("triplet", {"margin": 0.25})
    assert built.miner == MinerSpec("random", "random", settings={"margin": 0.3, "cutoff": 0.4})
    assert built.training.learning_rate == 0.01
    assert (built.dataset.name, built.dataset.train_on, built.dataset.evaluate_on) == ("digits", "fine", ("fine",))
    assert (built.dataset.packed, built.dataset.split, built.dataset.labels) == ("p", "s", "l")


def test_tuning_sees_validation_classes_only(toy_study):
    study = toy_study(evaluation={"metrics": ["recall@1", "nmi"], "sets": ["test", "seen"], "keep_embeddings": True})
    assert spec(study).evaluation.sets == ("validation",)
    assert not spec(study).evaluation.keep_embeddings
    confirmed = spec(study, phase="confirm").evaluation
    assert confirmed.sets == ("test", "seen")
    assert confirmed.keep_embeddings


def test_the_protocol_is_that_of_confirmed_trials(toy_study):
    study = toy_study(search={"protocol": "train_val_test"})
    confirmed = spec(study, phase="confirm")
    assert (confirmed.protocol, confirmed.data_phase) == ("train_val_test", "tune")
    assert spec_json.load(spec_json.dump(confirmed)) == confirmed
    assert spec(study) == spec(toy_study()), "tuning is the same under both protocols"
    assert spec(toy_study(), phase="confirm").data_phase == "confirm"


def test_a_spec_survives_json(toy_study):
    study = toy_study(
        losses=["triplet", {"name": "softmax"}],
        training={"steps": 7, "backbone": {"settings": {"width": 4}}},
        evaluation={"metrics": ["recall@1", "nmi"], "sets": ["seen", "test"]},
    )
    for cell in study.cells():
        built = specs.build(study, cell, "confirm", 3, {"loss.margin": 0.5}, DIGESTS)
        assert spec_json.load(spec_json.dump(built)) == built
