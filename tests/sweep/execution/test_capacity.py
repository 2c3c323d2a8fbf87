"""How many trials fit on nodes, and what a study is told if none does."""

import pytest

from dml.config import ResourcesSection
from dml.sweep.execution import cluster
from dml.sweep.execution.cluster import Room, fits

NODES = [{"CPU": 4.0, "GPU": 1.0}, {"CPU": 3.0}, {"CPU": 4.0, "GPU": 4.0}]


@pytest.mark.parametrize(
    ("resources", "workers", "expected"),
    [
        ({}, 1, 11),
        ({"cpus_per_trial": 2}, 1, 5),
        ({"gpus_per_trial": 0.5}, 1, 6),  # a GPU for two, and a processor for each
        ({"gpus_per_trial": 2}, 1, 2),
        ({}, 4, 2),
        ({"gpus_per_trial": 4}, 4, 1),  # on two nodes
        ({"gpus_per_trial": 10}, 5, 0),
    ],
)
def test_trials_that_fit(resources, workers, expected):
    assert fits(ResourcesSection(**resources), workers, NODES) == expected


@pytest.fixture
def nodes(monkeypatch):
    """A list that Ray reports as the nodes that are alive, and a clock."""
    import ray

    found: list[dict[str, float]] = []
    now = [1000.0]
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": node} for node in found])
    monkeypatch.setattr(cluster.time, "monotonic", lambda: now[0])
    found.append({"CPU": 2.0})
    return found, now


def test_a_cluster_that_lacks_nodes_is_waited_for_and_then_a_problem(nodes, capsys, monkeypatch):
    found, now = nodes
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    monkeypatch.setattr(cluster, "WAIT_MINUTES", 1.0)
    few = Room(ResourcesSection(), workers=4)
    few.check()
    assert capsys.readouterr().out == (
        "resources: a trial takes 4 workers (training.workers) of 1 CPU each, but there is room for 2. "
        "Nodes: 2 CPUs and 0 GPUs. Waiting for nodes, 1 min at most.\n"
    )
    assert few() == 1, "one trial waits, so that an autoscaler adds nodes"
    now[0] += 50
    assert few.problem() is None
    found.append({"CPU": 2.0})  # joins late
    now[0] += 20
    assert few.problem() is None
    found.clear()
    now[0] += 59
    assert few.problem() is None
    now[0] += 10
    assert "Nodes: none; waited for 1 min" in str(few.problem())
