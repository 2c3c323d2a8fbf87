"""Trials in a real S3-compatible storage: what it loses, refuses or delays, with one message each."""

import re
import threading

import pytest
from object_storage import Proxy

from dml.sweep.store import remote as remote_module
from dml.sweep.store.remote import StorageError
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def proxy(object_storage):
    found = Proxy(object_storage.port)
    yield found
    found.close()


@pytest.fixture
def uri(object_storage, monkeypatch, request):
    """A folder in a bucket of its own, whose server the environment names."""
    for name, value in object_storage.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote_module, "WAITS", (0.05, 0.1))
    return f"{object_storage.bucket('tests')}/{re.sub('[^a-z0-9]+', '-', request.node.name.lower())}"


def trial(store, key="k", **outcome):
    checkpoint = store.folder(key) / "checkpoint" / "last.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write_bytes(bytes(range(256)) * 40)
    store.begin(key, '{"spec": {"a": 1}}')
    if outcome:
        store.write(key, Outcome(FINISHED, outcome))


def test_a_storage_that_keeps_forgetting_has_no_outcome(uri, proxy, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    store = TrialStore(tmp_path / "here", uri)
    trial(store, a=1.0)
    proxy.forgets = {"last.pt": 99}
    with pytest.raises(StorageError, match=r"does not keep what is written.*3 attempts: checkpoint/last\.pt"):
        store.push("k")
    assert TrialStore(tmp_path / "fresh", uri).look().read("k") is None, "an outcome whose files are lost counts"
    proxy.forgets = {}
    assert store.look().push_missing("k")
    assert TrialStore(tmp_path / "fresh", uri).look().read("k") == Outcome(FINISHED, {"a": 1.0})
    assert not store.look().push_missing("k")


def test_a_stale_outcome_is_noticed(uri, proxy, tmp_path, monkeypatch):
    """Of the same size as the new one, so that only its content tells."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    store = TrialStore(tmp_path / "here", uri)
    trial(store, a=1.0)
    store.push("k")
    store.write("k", Outcome(FINISHED, {"a": 2.0}))
    proxy.forgets = {"result.json": 99}
    with pytest.raises(StorageError, match=r"result\.json"):
        store.push("k")


def test_a_server_that_is_killed_keeps_what_it_had(uri, object_storage, tmp_path):
    store = TrialStore(tmp_path / "here", uri)
    trial(store, a=1.0)
    store.push("k")
    object_storage.kill()
    back = threading.Timer(1.0, object_storage.start)
    back.start()
    store.write("k", Outcome(FINISHED, {"a": 2.0}))
    store.push("k")  # waits
    back.join()
    assert TrialStore(tmp_path / "fresh", uri).look().read("k") == Outcome(FINISHED, {"a": 2.0})
