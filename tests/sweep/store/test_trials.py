import fcntl
import os
import subprocess
import sys

import pytest

from dml.sweep.store.trials import FAILED, FINISHED, Outcome, TrialStore, only_sweep


def test_an_outcome_comes_back(tmp_path):
    store = TrialStore(tmp_path)
    outcome = Outcome(FINISHED, {"a": 0.1}, [[1, {"a": 0.1}]], {"b": 2.0}, 3.0, started="2024-01-01T00:00:00+00:00")
    assert store.read("k") is None
    store.write("k", outcome)
    assert store.read("k") == outcome


def test_only_a_failure_that_lasts_is_kept(tmp_path):
    store = TrialStore(tmp_path)
    store.write("k", Outcome(FAILED, error="a full disk", lasting=False))
    assert store.read("k") is None
    store.write("k", Outcome(FAILED, error="nan"))
    assert store.read("k").error == "nan"


def test_a_copy_that_was_interrupted_is_no_outcome_and_no_record(tmp_path):
    """A worker that dies while it copies files from the storage leaves a part of one."""
    store = TrialStore(tmp_path)
    store.begin("k", '{"spec": {}}')
    assert [key for key, _, _ in store.records()] == ["k"]
    for name in ("result.json", "spec.json"):
        (store.folder("k") / name).write_text('{"status": "fin')
    assert store.read("k") is None
    assert list(store.records()) == []
    store.begin("k", '{"spec": {}}')
    assert [content for _, content, _ in store.records()] == [{"spec": {}}]


HOLD = """
import sys, time
from pathlib import Path
from dml.sweep.store.trials import TrialStore
with TrialStore(Path(sys.argv[1])).lock("k"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_leaves_no_lock(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with open(tmp_path / "trials" / "k" / "lock") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    holder.kill()
    holder.communicate()
    with TrialStore(tmp_path).lock("k"):
        pass


def test_two_sweeps_of_one_study_are_refused(tmp_path):
    with only_sweep(tmp_path, "a"):
        with pytest.raises(RuntimeError, match=rf"'a'.*process {os.getpid()}\b"), only_sweep(tmp_path, "a"):
            pass
        with only_sweep(tmp_path, "b"):
            pass


def test_trials_go_to_a_storage_and_come_back(tmp_path):
    here, there = (TrialStore(tmp_path / name, (tmp_path / "remote").as_uri()) for name in ("here", "there"))
    checkpoint = here.folder("k") / "checkpoint" / "last.pt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("one")
    here.push("k")
    there.pull("k")
    assert (there.folder("k") / "checkpoint" / "last.pt").read_text() == "one"
    checkpoint.unlink()
    here.write("k", Outcome(FINISHED, {"a": 1.0}))
    here.push("k")
    there.push("k")  # it has not finished: what has stays
    assert not (tmp_path / "remote" / "trials" / "k" / "checkpoint" / "last.pt").exists()
    fresh = TrialStore(tmp_path / "fresh", (tmp_path / "remote").as_uri())
    fresh.pull("k")
    assert fresh.read("k") == Outcome(FINISHED, {"a": 1.0})
