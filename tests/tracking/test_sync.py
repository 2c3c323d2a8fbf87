"""A sync makes MLflow's runs those of the picture, whatever an earlier one left."""

import time

import mlflow
import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR
from tracked import CURVE, cell, picture, runs, state, trial

from dml.tracking import RUNNING
from dml.tracking.sync import sync

pytestmark = pytest.mark.slow

SCORE = "validation/fine/recall_at_1"


def history(client, run):
    return [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, SCORE)]


def test_a_study_contains_cells_and_a_cell_its_trials(uri):
    assert sync(picture(), uri) == ""
    client, (parent,) = runs(uri, "study")
    (own,), trials = runs(uri, "cell")[1], runs(uri, "trial")[1]
    assert own.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert {run.data.tags["mlflow.parentRunId"] for run in trials} == {own.info.run_id}
    assert {run.info.run_name for run in trials} == {"triplet: trial 0", "triplet: trial 1"}
    assert {run.info.status for run in [parent, own, *trials]} == {"FINISHED"}
    assert (own.info.start_time, own.info.end_time) == (1_700_000_000_000, 1_700_000_010_000)
    assert own.data.params == {"loss": "triplet", "rate": "0.1", "loss.margin": "0.2"}
    assert own.data.metrics == {"objective.mean": 0.5, "test/fine/recall_at_1.mean": 0.5}
    found = client.get_metric_history(trials[0].info.run_id, SCORE)
    assert [(m.step, m.value, m.timestamp) for m in found] == [
        (5, 0.5, 1_700_000_005_000),
        (10, 0.75, 1_700_000_010_000),
    ]


def test_a_second_sync_changes_nothing(uri):
    assert sync(picture(), uri) == ""
    before = state(uri)
    assert sync(picture(), uri) == ""
    assert state(uri) == before


def test_a_running_trial_has_its_curve_so_far_and_then_all_of_it_once(uri):
    under_way = trial(0, status=RUNNING, curve=CURVE[:1], seconds=4.0)
    sync(picture(under_way, status=RUNNING), uri)
    client, (run,) = runs(uri, "trial")
    assert (run.info.status, history(client, run)) == ("RUNNING", [(5, 0.5)])
    for _ in range(2):
        sync(picture(trial(0)), uri)
        client, (run,) = runs(uri, "trial")
        assert (run.info.status, history(client, run)) == ("FINISHED", [(5, 0.5), (10, 0.75)])
    assert run.data.metrics["objective"] == 0.75


def test_new_scores_replace_old_ones_lower_ones_too(uri):
    for score in (0.5, 0.25, 0.25):
        assert sync(picture(of_cell=cell(score=score)), uri) == ""
    client, (run,) = runs(uri, "cell")
    assert run.data.metrics["objective.mean"] == 0.25
    assert len(client.get_metric_history(run.info.run_id, "objective.mean")) == 2


@pytest.mark.parametrize("seconds", [0, -3600])
def test_a_new_score_counts_whatever_the_clock_says(uri, monkeypatch, seconds):
    """Of two values MLflow shows that with the later time, or the higher one of two at one time."""
    began = time.time()
    monkeypatch.setattr(time, "time", lambda: began)
    sync(picture(of_cell=cell(score=0.5)), uri)
    monkeypatch.setattr(time, "time", lambda: began + seconds)
    for score in (0.25, 0.125, 0.0625):
        sync(picture(of_cell=cell(score=score)), uri)
        assert runs(uri, "cell")[1][0].data.metrics["objective.mean"] == score


def test_other_best_settings_replace_the_run_and_keep_its_trials(uri):
    """MLflow cannot change a parameter."""
    sync(picture(), uri)
    (old,) = runs(uri, "cell")[1]
    sync(picture(of_cell=cell(margin=0.3)), uri)
    (new,), trials = runs(uri, "cell")[1], runs(uri, "trial")[1]
    assert new.info.run_id != old.info.run_id
    assert new.data.params["loss.margin"] == "0.3"
    assert {run.data.tags["mlflow.parentRunId"] for run in trials} == {new.info.run_id}
    assert len(trials) == 2


def test_files_are_sent_once_a_table_also_as_text(uri, tmp_path, monkeypatch):
    frame = pd.DataFrame({"key": ["a"], "curve": ["[]"], "test/fine/recall@1": [0.5]})
    frame.to_parquet(tmp_path / "trials.parquet")
    (tmp_path / "study.yaml").write_text("title: Mine")
    named = {name: tmp_path / name for name in ("trials.parquet", "study.yaml", "missing.json")}
    named["report/study.html"] = tmp_path / "page.html"
    sync(picture(files=named), uri)
    (tmp_path / "page.html").write_text("<p>First</p>")
    sent, log = [], MlflowClient.log_artifact
    monkeypatch.setattr(MlflowClient, "log_artifact", lambda *given: sent.append(given[-1]) or log(*given))
    for _ in range(2):
        assert sync(picture(files=named), uri) == ""
    assert sent == [None, None, None, "report"], "the second time all of it is there"
    client, (run,) = runs(uri, "study")
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files == {"trials.parquet", "trials.csv", "study.yaml", "report"}
    place = f"{run.info.artifact_uri}/"
    table = pd.read_csv(mlflow.artifacts.download_artifacts(f"{place}trials.csv", tracking_uri=uri))
    assert list(table.columns) == ["key", "test/fine/recall@1"]
    page = mlflow.artifacts.download_artifacts(f"{place}report/study.html", tracking_uri=uri)
    with open(page, encoding="utf-8") as file:
        assert file.read() == "<p>First</p>"


@pytest.mark.parametrize("name", ["create_run", "log_batch", "set_terminated", "update_run"])
@pytest.mark.parametrize("arrives", [False, True])
def test_an_error_at_any_request_is_made_good_by_the_next_sync(uri, monkeypatch, name, arrives):
    """Each request fails once, before or after MLflow has it."""
    sync(picture(trial(0), status=RUNNING), uri)
    wanted = picture(
        trial(0, curve=[*CURVE, (15, {"validation/fine/recall@1": 0.8})]), trial(1), of_cell=cell(name="new")
    )
    original, count = getattr(MlflowClient, name), 0

    def fails(self, *given, **names):
        nonlocal count
        count += 1
        if count == fail_at:
            if arrives:
                original(self, *given, **names)
            raise MlflowException("the connection is lost", INTERNAL_ERROR)
        return original(self, *given, **names)

    monkeypatch.setattr(MlflowClient, name, fails)
    fail_at, problems = 1, 0
    while problem := sync(wanted, uri):
        assert "the connection is lost" in problem
        problems, fail_at = problems + 1, count + 2  # the next sync's first request passes
    assert problems > 0
    client, trials = runs(uri, "trial")
    assert sorted(run.data.tags["dml.trial"] for run in trials) == ["digits|triplet|tune|0", "digits|triplet|tune|1"]
    assert len(runs(uri, "cell")[1]) == len(runs(uri, "study")[1]) == 1
    assert {run.info.status for run in runs(uri)[1]} == {"FINISHED"}
    lengths = {run.data.tags["dml.trial"][-1]: len(history(client, run)) for run in trials}
    assert lengths == {"0": 3, "1": 2}


def test_artifacts_that_cannot_be_stored_delay_no_run(uri, tmp_path, monkeypatch):
    """The server may keep them where this machine cannot write."""
    (tmp_path / "study.yaml").write_text("title: Mine")
    wanted, log = picture(files={"study.yaml": tmp_path / "study.yaml"}), MlflowClient.log_artifact

    def fails(*given):
        raise PermissionError(13, "Permission denied", "/mlartifacts")

    monkeypatch.setattr(MlflowClient, "log_artifact", fails)
    assert "Permission denied: '/mlartifacts'" in sync(wanted, uri)
    (own,) = runs(uri, "study")[1]
    assert (own.info.status, own.data.metrics) == ("FINISHED", {"cells": 1.0})
    assert len(runs(uri, "trial")[1]) == 2
    monkeypatch.setattr(MlflowClient, "log_artifact", log)
    assert sync(wanted, uri) == ""
    assert [file.path for file in runs(uri)[0].list_artifacts(own.info.run_id)] == ["study.yaml"]
