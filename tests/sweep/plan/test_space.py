import math

import pytest

from dml.sweep.plan.space import space_of
from dml.sweep.plan.strategies import Grid
from dml.types import Choice, LogUniform, Uniform


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
