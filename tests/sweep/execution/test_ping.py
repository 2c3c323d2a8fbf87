"""Whether a Ray cluster answers is known in seconds, before anything waits for it."""

import time

import pytest

from dml.sweep.execution import cluster

DEAD = "127.0.0.1:9"  # the port of `discard`: nothing answers


@pytest.mark.parametrize("address", [DEAD, f"ray://{DEAD}", "no-such.invalid:6379", "head", "http://head:1", "a:b"])
def test_a_dead_address_is_named_at_once(address, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    begun = time.monotonic()
    for call in (cluster.connect, cluster.check):
        with pytest.raises(ConnectionError, match=f"'{address}'"):
            call()
    assert time.monotonic() - begun < 10
