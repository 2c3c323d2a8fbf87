"""Trials in a real S3-compatible storage: what it refuses or delays, with one message each."""

import re
import threading

import pytest

from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def uri(object_storage, monkeypatch, request):
    """A folder in a bucket of its own, whose server the environment names."""
    for name, value in object_storage.environment.items():
        monkeypatch.setenv(name, value)
    return f"{object_storage.bucket('tests')}/{re.sub('[^a-z0-9]+', '-', request.node.name.lower())}"


def trial(store, key="k", **outcome):
    checkpoint = store.folder(key) / "checkpoint" / "last.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write_bytes(bytes(range(256)) * 40)
    store.begin(key, '{"spec": {"a": 1}}')
    if outcome:
        store.write(key, Outcome(FINISHED, outcome))


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
