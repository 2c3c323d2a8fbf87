"""From cells to spaces and specs, and specs as JSON."""

import math

import pytest

from dml.sweep.plan import specs
from dml.sweep.plan.space import space_of
from dml.sweep.plan.strategies import Grid
from dml.types import Choice, LogUniform, LossSpec, MinerSpec, Uniform

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
    assert spec(study) == spec(toy_study()), "tuning is the same under both protocols"
    assert spec(toy_study(), phase="confirm").data_phase == "confirm"


def test_a_cells_space_joins_loss_and_training(toy_study):
    study = toy_study(
        losses=[{"name": "triplet", "search": {"margin": {"uniform": [0.1, 0.5]}}}],
        training={"search": {"learning_rate": {"log_uniform": [1e-4, 1e-2]}}},
    )
    assert space_of(study, study.cells()[0]) == {
        "loss.margin": Uniform(0.1, 0.5),
        "training.learning_rate": LogUniform(1e-4, 1e-2),
    }


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 39])
def test_a_grid_stays_within_its_budget_and_bounds(budget):
    spaces = {"a": Uniform(0.1, 0.5), "b": LogUniform(1e-4, 1e-1), "c": Choice(("x", "y"))}
    points = Grid(spaces, budget).points
    assert 1 <= len(points) <= budget
    assert len({tuple(point.items()) for point in points}) == len(points)
    for point in points:
        assert 0.1 <= point["a"] <= 0.5
        assert 1e-4 <= point["b"] <= 1e-1


def test_a_grid_has_the_ends_and_equal_steps():
    assert [p["a"] for p in Grid({"a": Uniform(0, 1)}, 5).points] == [0, 0.25, 0.5, 0.75, 1]
    logs = [math.log10(p["a"]) for p in Grid({"a": LogUniform(1e-4, 1)}, 5).points]
    assert logs == pytest.approx([-4, -3, -2, -1, 0])
    assert Grid({"a": Uniform(0, 1)}, 1).points == [{"a": 0.5}]
