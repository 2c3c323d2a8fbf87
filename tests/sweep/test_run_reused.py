"""A sweep whose trials are all in the store: it starts no worker, and writes and tracks what a sweep does."""

from collections import Counter

import mlflow
import pytest
import toy
from driver import place, study
from simulated import simulate

from dml.pipeline.sync import sync_study
from dml.sweep.run import run_study

pytestmark = pytest.mark.slow

SECTIONS = {"noise": [{"name": "uniform", "rates": [0.0, 0.2]}]}


def sweep(root, tracking="off", **sections):
    own = study(**SECTIONS | sections)
    simulate(own, root, lambda job: 0.5 + 0.01 * job.number)
    (root / "study.yaml").write_text("title: Toys")
    frame = run_study(own, root, root / "store", root / "out", "toy.Toy", toy.describe)
    if tracking != "off":
        assert sync_study(place(root, tracking, **SECTIONS | sections), own) == ""
    return frame


def of_kind(uri, kind):
    client = mlflow.MlflowClient(tracking_uri=uri)
    place = [client.get_experiment_by_name("dml").experiment_id]
    return client.search_runs(place, f"tags.`dml.kind` = '{kind}'", max_results=1000)


def test_study_cell_and_trial_in_mlflow_and_again_without_a_double(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    for sections in ({}, {}, {"seeds": [0, 1, 2]}):
        frame = sweep(tmp_path, uri, **sections)
        (parent,), cells, trials = (of_kind(uri, kind) for kind in ("study", "cell", "trial"))
        assert Counter(run.data.tags["dml.cell"] for run in cells) == Counter(frame["cell"].unique())
        assert len(trials) == len(frame)
        by_name = {run.data.tags["dml.cell"]: run.info.run_id for run in cells}
        assert all(run.data.tags["mlflow.parentRunId"] == by_name[run.data.tags["dml.cell"]] for run in trials)
        assert {run.data.tags["mlflow.parentRunId"] for run in cells} == {parent.info.run_id}
        assert {run.info.status for run in [parent, *cells, *trials]} == {"FINISHED"}
        done = frame[frame["phase"] == "confirm"].groupby("cell")["objective"].mean()
        assert {run.data.tags["dml.cell"]: run.data.metrics["objective.mean"] for run in cells} == pytest.approx(
            dict(done)
        )
    assert parent.data.metrics["trials"] == len(frame)
    client = mlflow.MlflowClient(tracking_uri=uri)
    files = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert {"study.yaml", "summary.json", "trials.csv", "trials.parquet"} <= files
    history = client.get_metric_history(cells[0].info.run_id, "objective.mean")
    assert len(history) == 2, "the second sweep had the same scores"
