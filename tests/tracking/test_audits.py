"""Audits in MLflow: one run for each audit, which a review updates, and no part of a sweep."""

import mlflow

from dml.tracking.audits import log_audit
from dml.tracking.tracker import Tracker


def test_an_audit_is_one_run_that_a_review_updates_and_sweeps_ignore(tmp_path, uri):
    table = tmp_path / "audit.csv"
    table.write_text("index\n")
    settings = {"representation": "pixels", "folds": 5}
    assert log_audit("mine", "d1", settings, {"rate.guess": 0.1}, [table], uri) == ""
    assert log_audit("mine", "d1", settings, {"rate.guess": 0.1, "review.rate": 0.2}, [table], uri) == ""
    assert log_audit("mine", "d2", settings, {"rate.guess": 0.3}, [table], uri) == ""
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("dml").experiment_id
    runs = client.search_runs([experiment], "tags.`dml.kind` = 'audit'")
    by_digest = {run.data.tags["dml.audit"]: run for run in runs}
    assert len(runs) == len(by_digest) == 2
    assert by_digest["d1"].data.metrics == {"rate.guess": 0.1, "review.rate": 0.2}
    assert by_digest["d1"].data.params == {"representation": "pixels", "folds": "5"}
    assert by_digest["d1"].info.status == "FINISHED"
    assert [file.path for file in client.list_artifacts(by_digest["d1"].info.run_id)] == ["audit.csv"]
    tracker = Tracker("mine", tmp_path / "spool", uri)
    assert tracker._runs._trials == {}
    tracker.close()


def test_a_server_that_does_not_answer_is_said(tmp_path):
    assert log_audit("mine", "d", {}, {}, [], "http://127.0.0.1:9").startswith("MLflow at http://127.0.0.1:9: ")
