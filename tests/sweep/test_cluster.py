"""A cluster that asks for a token, as Ray's clusters do by themselves where a token exists."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
print(Cluster(True, head_node_args={"num_cpus": 3, "include_dashboard": False}).address, flush=True)
sys.stdin.read()
"""
CONNECT = """
from dml.config import ResourcesSection
from dml.sweep.cluster import connect
connect(ResourcesSection())
import ray
print(ray.cluster_resources()["CPU"])
"""
pytestmark = pytest.mark.slow


@pytest.fixture
def variables(tmp_path):
    """The environment of a machine that has a token, which a program has to find by itself."""
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


def test_the_token_of_this_machine_opens_a_cluster_and_a_machine_without_is_told_so(tmp_path, variables, address):
    def connect(**others: str) -> subprocess.CompletedProcess[str]:
        told = {**variables, "RAY_ADDRESS": address, **others}
        return subprocess.run([sys.executable, "-c", CONNECT], env=told, capture_output=True, text=True)

    assert connect().stdout.strip() == "3.0"
    elsewhere = {"HOME": str(tmp_path / "elsewhere")}
    assert connect(**elsewhere, RAY_AUTH_TOKEN_PATH=str(tmp_path / ".ray" / "auth_token")).stdout.strip() == "3.0"
    assert "asks for a token, and none is in RAY_AUTH_TOKEN or ~/.ray" in connect(**elsewhere).stderr
