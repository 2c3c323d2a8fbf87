import time

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from tracked import record, runs

from dml.tracking.tracker import Tracker, TrackingError


def track(uri, tmp_path, numbers, **settings):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri, **settings)
    for n in numbers:
        tracker.trial(f"cell|tune|{n}", f"key-{n}", record(n))
    assert tracker.close("FINISHED") == 0


def test_a_study_contains_cells_and_a_cell_its_trials(uri, tmp_path):
    track(uri, tmp_path, range(3), tags={"dml.git_commit": "abc"}, datasets={"digits": "0123456789abcdef" * 4})
    client, found = runs(uri)
    (parent,) = [run for run in found if run.data.tags["dml.kind"] == "study"]
    children = [run for run in found if run.data.tags["dml.kind"] == "trial"]
    assert len(children) == 3
    (cell,) = [run for run in found if run.data.tags["dml.kind"] == "cell"]
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {cell.info.run_id}
    assert cell.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert cell.info.run_name == "cell"
    assert {run.info.run_name for run in children} == {"run-0", "run-1", "run-2"}
    assert {run.info.status for run in [parent, *children]} == {"FINISHED"}
    assert cell.info.status == "RUNNING", "its record did not come"
    assert all(run.data.tags["dml.git_commit"] == "abc" for run in found)
    assert [d.dataset.digest for d in parent.inputs.dataset_inputs] == [("0123456789abcdef" * 4)[:36]]
    (second,) = [run for run in children if run.info.run_name == "run-1"]
    assert second.data.params == {"loss": "triplet", "loss.margin": "0.1"}
    history = client.get_metric_history(second.info.run_id, "validation/fine/recall_at_1")
    assert [(m.step, m.value, m.timestamp) for m in history] == [
        (5, 0.5, 1_700_000_005_000),
        (10, 0.75, 1_700_000_010_000),
    ]


def test_a_second_run_doubles_nothing(uri, tmp_path):
    track(uri, tmp_path, range(3))
    track(uri, tmp_path, range(5))
    client, found = runs(uri)
    assert sorted(run.info.run_name for run in found) == ["cell", *(f"run-{n}" for n in range(5)), "study"]
    for run in found:
        if run.data.tags["dml.kind"] == "trial":
            assert len(client.get_metric_history(run.info.run_id, "validation/fine/recall_at_1")) == 2


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_run_ends_after_it_starts_where_the_nodes_clock_is_apart(uri, tmp_path, hours):
    """The driver says when a running trial began, and its node when an ended one did."""
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    ended = record(0)
    tracker.running("cell|tune|0", "key-0", {**ended, "start": ended["start"] + 3600 * hours})
    tracker.trial("cell|tune|0", "key-0", ended)
    assert tracker.close("FINISHED") == 0
    (run,) = [run for run in runs(uri)[1] if run.data.tags["dml.kind"] == "trial"]
    assert run.info.start_time == 1000 * (ended["start"] + 3600 * hours)
    assert run.info.end_time - run.info.start_time == 10_000


def test_two_sweeps_that_insert_the_same_dataset_at_once(uri, tmp_path, monkeypatch):
    """MLflow on a real database answers so, where SQLite waits."""
    text = '(psycopg2.errors.UniqueViolation) duplicate key value violates unique constraint "dataset_pk"'
    failures = [MlflowException(text, BAD_REQUEST), MlflowException(text, BAD_REQUEST)]
    log_inputs, log_batch = MlflowClient.log_inputs, MlflowClient.log_batch

    def conflict(function):
        def call(self, *args, **kwargs):
            if failures:
                raise failures.pop()
            return function(self, *args, **kwargs)

        return call

    monkeypatch.setattr(MlflowClient, "log_inputs", conflict(log_inputs))
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri, datasets={"digits": "abc"})
    assert failures == []
    failures += [MlflowException(text, BAD_REQUEST)]
    monkeypatch.setattr(MlflowClient, "log_batch", conflict(log_batch))
    tracker.trial("cell|tune|0", "key-0", record(0))
    assert tracker.close("FINISHED") == 0
    client, found = runs(uri)
    (run,) = [run for run in found if run.data.tags["dml.kind"] == "trial"]
    assert run.info.status == "FINISHED", "a record was lost"
    assert len(client.get_metric_history(run.info.run_id, "validation/fine/recall_at_1")) == 2


def test_a_run_that_a_crash_left_half_made_is_completed(uri, tmp_path):
    track(uri, tmp_path, range(1))
    client, found = runs(uri)
    (child,) = [run for run in found if run.data.tags["dml.kind"] == "trial"]
    client.update_run(child.info.run_id, status="RUNNING")
    track(uri, tmp_path, range(1))
    client, found = runs(uri)
    assert {run.info.status for run in found if run.data.tags["dml.kind"] != "cell"} == {"FINISHED"}
    assert len(found) == 3
    assert len(client.get_metric_history(child.info.run_id, "validation/fine/recall_at_1")) == 2


def under_way(points):
    full = record()
    return {name: full[name] for name in ("name", "params", "tags", "start")} | {"curve": full["curve"][:points]}


def test_a_trial_under_way_has_its_curve_so_far(uri, tmp_path):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    tracker.running("cell|tune|0", "key-0", under_way(1))
    deadline = time.monotonic() + 20
    while tracker.unsent and time.monotonic() < deadline:
        time.sleep(0.05)
    client, found = runs(uri)
    (child,) = [run for run in found if run.data.tags["dml.kind"] == "trial"]
    assert child.info.status == "RUNNING"
    assert [m.step for m in client.get_metric_history(child.info.run_id, "validation/fine/recall_at_1")] == [5]
    tracker.trial("cell|tune|0", "key-0", record(status="FAILED", tags={"dml.cell": "cell", "dml.error": "why"}))
    assert tracker.close() == 0
    assert sorted(m.step for m in client.get_metric_history(child.info.run_id, "validation/fine/recall_at_1")) == [
        5,
        10,
    ]
    ended = client.get_run(child.info.run_id)
    assert (ended.info.status, ended.data.tags["dml.error"]) == ("FAILED", "why")
    assert ended.data.metrics["objective"] == 0.75


def test_points_sent_before_a_crash_are_not_sent_twice(uri, tmp_path):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    tracker.running("cell|tune|0", "key-0", under_way(1))
    assert tracker.close() == 0
    track(uri, tmp_path, range(1))
    client, found = runs(uri)
    (child,) = [run for run in found if run.data.tags["dml.kind"] == "trial"]
    assert sorted(m.step for m in client.get_metric_history(child.info.run_id, "validation/fine/recall_at_1")) == [
        5,
        10,
    ]


def test_a_record_that_mlflow_rejects_delays_nothing(uri, tmp_path, caplog):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    tracker.trial("a", "a", record(params={"x" * 300: 1}))
    tracker.trial("b", "b", record(1))
    assert tracker.close() == 0
    assert "rejects" in caplog.text
    assert "run-1" in {run.info.run_name for run in runs(uri)[1]}


def test_an_unreachable_server_is_named_at_once(tmp_path):
    started = time.monotonic()
    with pytest.raises(TrackingError, match=r"http://127\.0\.0\.1:9.*MLFLOW_TRACKING_URI"):
        Tracker("study", tmp_path / "spool.jsonl", "http://127.0.0.1:9")
    assert time.monotonic() - started < 30
