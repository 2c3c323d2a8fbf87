"""Whether a Ray cluster answers is known in seconds, before anything waits for it."""

import socketserver
import threading
import time

import pytest

from dml.sweep.execution import cluster, ping

DEAD = "127.0.0.1:9"  # the port of `discard`: nothing answers
ANSWERS = {"gRPC": b"\0\0\x12\x04\0\0\0\0\0", "HTTP/1": b"HTTP/1.1 400 Bad Request\r\n\r\n"}


@pytest.fixture(params=ANSWERS)
def server(request):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(99)
            self.request.sendall(ANSWERS[request.param])

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield request.param, f"127.0.0.1:{found.server_address[1]}"
        found.shutdown()


def test_only_what_speaks_as_ray_does_is_a_cluster(server):
    kind, address = server
    assert bool(ping.problem(address)) == (kind != "gRPC")


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
