"""Whether a Ray cluster answers, and how many trials fit on its nodes."""

import time

import pytest

from dml.config import ResourcesSection
from dml.sweep.execution import cluster
from dml.sweep.execution.cluster import fits

DEAD = "127.0.0.1:9"  # the port of `discard`: nothing answers


@pytest.mark.parametrize("address", [DEAD, f"ray://{DEAD}", "no-such.invalid:6379", "head", "http://head:1", "a:b"])
def test_a_dead_address_is_named_at_once(address, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    begun = time.monotonic()
    for call in (cluster.connect, cluster.check):
        with pytest.raises(ConnectionError, match=f"'{address}'"):
            call()
    assert time.monotonic() - begun < 10


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
