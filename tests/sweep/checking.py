"""What a sweep must have left after a fault: the trials of an uninterrupted one, and each once in MLflow."""

import json
from collections import Counter

import expected
import mlflow
import pandas as pd


def check(workplace, uri=None, **overrides):
    """The results are those of an uninterrupted sweep; returns them."""
    found = pd.read_parquet(workplace.folder / "out" / "trials.parquet")
    whole = workplace.folder / "uninterrupted"
    whole.mkdir()
    pd.testing.assert_frame_equal(found[expected.DECIDED], expected.frame(whole, **overrides), check_exact=True)
    if uri:
        check_mlflow(uri, found)
    return found


def check_mlflow(uri, frame):
    """Each trial is there once, finished, with its whole curve once."""
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("dml")
    parents = client.search_runs([experiment.experiment_id], "tags.`dml.kind` = 'study'")
    assert [run.info.status for run in parents] == ["FINISHED"]
    runs = client.search_runs([experiment.experiment_id], "tags.`dml.kind` = 'trial'", max_results=1000)
    assert Counter(run.data.tags["dml.trial"] for run in runs) == Counter(
        f"{row.cell}|{row.phase}|{row.number}" for row in frame.itertuples()
    )
    assert {run.info.status for run in runs} == {"FINISHED"}
    curves = {row.key: json.loads(row.curve) for row in frame.itertuples()}
    for run in runs[:4]:
        phase = "validation" if run.data.tags["dml.phase"] == "tune" else "test"
        history = client.get_metric_history(run.info.run_id, f"{phase}/fine/recall_at_1")
        curve = curves[run.data.tags["dml.key"]]
        assert [(m.step, m.value) for m in history] == [
            (step, scores[f"{phase}/fine/recall@1"]) for step, scores in curve
        ]
