"""Whether a Ray cluster answers is known in seconds, before anything waits for it."""

import time

import pytest

from dml.sweep.execution import cluster, ping

DEAD = "127.0.0.1:9"  # the port of `discard`: nothing answers


@pytest.mark.parametrize("address", [DEAD, f"ray://{DEAD}", "no-such.invalid:6379", "head", "http://head:1", "a:b"])
def test_a_dead_address_is_named_at_once(address, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    begun = time.monotonic()
    for call in (cluster.connect, cluster.check):
        with pytest.raises(ConnectionError, match=f"'{address}'"):
            call()
    assert time.monotonic() - begun < 10


def test_a_cluster_of_this_machine_is_looked_for_and_asked(monkeypatch):
    """The file that Ray keeps of the last one outlives it."""
    name = "ray._private.services.canonicalize_bootstrap_address_or_die"
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(name, lambda address: DEAD)
    assert DEAD in ping.problem("auto")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:8")  # which Ray prefers
    assert "127.0.0.1:8" in ping.problem("auto")
