"""Clusters that ask for a token, as Ray makes one by itself; and a machine too busy to start Ray at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import ray

from dml.config import ResourcesSection
from dml.sweep.execution import cluster

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
print(Cluster(True, head_node_args={"num_cpus": 3, "include_dashboard": False}).address, flush=True)
sys.stdin.read()
"""
CONNECT = """
from dml.config import ResourcesSection
from dml.sweep.execution.cluster import connect
connect(ResourcesSection())
import ray
print(ray.cluster_resources()["CPU"])
"""
SLOW = "The current node timed out during startup. This could happen because some of the raylet failed to startup"


@pytest.fixture
def variables(tmp_path):
    """The environment of a machine that has a token."""
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("5" * 64)
    return {**{name: at for name, at in os.environ.items() if not name.startswith("RAY_")}, "HOME": str(tmp_path)}


@pytest.fixture
def address(variables):
    command = [sys.executable, "-c", CLUSTER]
    told = {**variables, "RAY_AUTH_MODE": "token"}
    with subprocess.Popen(command, env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield running.stdout.readline().strip()
        running.stdin.close()


@pytest.mark.slow
def test_a_cluster_that_asks_for_a_token_says_so_and_takes_it(variables, address):
    def connect(**others: str) -> subprocess.CompletedProcess[str]:
        told = {**variables, "RAY_ADDRESS": address, **others}
        return subprocess.run([sys.executable, "-c", CONNECT], env=told, capture_output=True, text=True)

    refused = connect().stderr.splitlines()[-1]
    assert refused.startswith("ConnectionError: no Ray cluster answers at")
    assert "RAY_AUTH_MODE=token" in refused
    assert connect(RAY_AUTH_MODE="token").stdout.strip() == "3.0"


@pytest.mark.parametrize(
    ("errors", "tries", "raised"), [([SLOW, SLOW], 3, ""), ([SLOW] * 3, 3, SLOW), (["no"], 1, "no")]
)
def test_ray_that_took_too_long_to_start_is_started_again(monkeypatch, errors, tries, raised):
    made, left = [], list(errors)

    def init(**settings):
        made.append(settings["address"])
        if left:
            raise Exception(left.pop(0))

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if raised:
        with pytest.raises(Exception, match=raised):
            cluster.connect(ResourcesSection())
    else:
        cluster.connect(ResourcesSection())
    assert made == ["local"] * tries
