"""Cells in MLflow: one run each, between the study's run and its trials', with what was computed over seeds."""

import json
from urllib.parse import parse_qs, urlsplit

import mlflow
import pandas as pd
import pytest
from tracked import record, runs

from dml.tracking.finding import find_study
from dml.tracking.tracker import Tracker
from dml.tracking.view import VIEW_TAG, ui_address, ui_addresses

COLUMNS = {"params": ["loss", "rate"], "metrics": ["objective.mean", "objective.low", "test/fine/recall@1.mean"]}


def cell(margin=0.2, score=0.5, **changes):
    base = {
        "status": "FINISHED",
        "params": {"loss": "triplet", "rate": 0.1, "positives": None, "loss.margin": margin},
        "metrics": {"objective.mean": score, "test/fine/recall@1.mean": score},
        "tags": {},
        "start": 1_700_000_000.0,
        "end": 1_700_000_010.0,
    }
    return {**base, **changes}


def send(uri, tmp_path, cells, trials=2, **outcome):
    """One sweep of a study: its trials, then its cells."""
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri, datasets={"digits": "0123456789abcdef" * 4})
    for n in range(trials):
        tracker.trial(f"cell|confirm|{n}", f"key-{n}", record(n))
    for name, own in cells.items():
        tracker.cell(name, own)
    if outcome:
        tracker.study({"tags": {}, "metrics": {}, "columns": COLUMNS, **outcome})
    assert tracker.close() == 0


def of_kind(uri, kind):
    return [run for run in runs(uri)[1] if run.data.tags["dml.kind"] == kind]


def test_a_cell_has_scores_and_settings(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    (run,) = of_kind(uri, "cell")
    assert run.info.status == "FINISHED"
    assert (run.info.start_time, run.info.end_time) == (1_700_000_000_000, 1_700_000_010_000)
    assert run.data.metrics == {"objective.mean": 0.5, "test/fine/recall_at_1.mean": 0.5}
    assert run.data.params == {"loss": "triplet", "rate": "0.1", "loss.margin": "0.2"}
    assert {trial.data.tags["mlflow.parentRunId"] for trial in of_kind(uri, "trial")} == {run.info.run_id}


def test_the_same_cell_again_changes_nothing(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    (before,) = of_kind(uri, "cell")
    send(uri, tmp_path, {"cell": cell()})
    (after,) = of_kind(uri, "cell")
    assert after.to_dictionary() == before.to_dictionary()
    assert len(runs(uri)[0].get_metric_history(after.info.run_id, "objective.mean")) == 1


def test_new_scores_replace_those_of_fewer_seeds(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    send(uri, tmp_path, {"cell": cell(score=0.25)}, trials=3)
    (run,) = of_kind(uri, "cell")
    assert run.data.metrics["objective.mean"] == 0.25, "the latest, and not the highest one"


def test_other_best_settings_replace_the_run_and_keep_its_trials(uri, tmp_path):
    """MLflow cannot change a parameter."""
    send(uri, tmp_path, {"cell": cell()})
    (old,) = of_kind(uri, "cell")
    send(uri, tmp_path, {"cell": cell(margin=0.3)})
    (new,) = of_kind(uri, "cell")
    assert new.info.run_id != old.info.run_id
    assert new.data.params["loss.margin"] == "0.3"
    assert {trial.data.tags["mlflow.parentRunId"] for trial in of_kind(uri, "trial")} == {new.info.run_id}


def test_trials_that_an_earlier_version_put_below_the_study_move_below_their_cell(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    client, (run,) = runs(uri)[0], of_kind(uri, "cell")
    (study,) = of_kind(uri, "study")
    for trial in of_kind(uri, "trial"):
        client.set_tag(trial.info.run_id, "mlflow.parentRunId", study.info.run_id)
    send(uri, tmp_path, {"cell": cell()})
    assert {trial.data.tags["mlflow.parentRunId"] for trial in of_kind(uri, "trial")} == {run.info.run_id}


def test_a_cell_whose_record_a_crash_cut_short_is_completed(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    client, (run,) = runs(uri)[0], of_kind(uri, "cell")
    client.update_run(run.info.run_id, status="RUNNING")
    send(uri, tmp_path, {"cell": cell()})
    (run,) = of_kind(uri, "cell")
    assert run.info.status == "FINISHED"


def test_a_cell_with_a_thousand_scores(uri, tmp_path):
    scores = {f"test/fine/score{n}.mean": float(n) for n in range(1700)}
    settings = {f"loss.setting{n}": n for n in range(120)}
    send(uri, tmp_path, {"cell": cell(metrics=scores, params=settings)})
    (run,) = of_kind(uri, "cell")
    assert run.data.metrics == scores
    assert len(run.data.params) == 100, "MLflow's limit in a request"


def test_the_study_has_the_winner_and_files_each_once(uri, tmp_path):
    frame = pd.DataFrame({"key": ["a"], "cell": ["cell"], "curve": ["[]"], "test/fine/recall@1": [0.5]})
    frame.to_parquet(tmp_path / "trials.parquet")
    (tmp_path / "study.yaml").write_text("title: Mine")
    for _ in range(2):
        tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
        tracker.study(
            {"tags": {"dml.winner": "cell"}, "metrics": {"objective.mean": 0.5, "cells": 1}, "columns": COLUMNS}
        )
        for name in ("trials.parquet", "study.yaml", "missing.json"):
            tracker.artifact(tmp_path / name)
        assert tracker.close() == 0
    client, (run,) = runs(uri)[0], of_kind(uri, "study")
    assert run.data.metrics == {"objective.mean": 0.5, "cells": 1.0}
    assert run.data.tags["dml.winner"] == "cell"
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files == {"trials.parquet", "trials.csv", "study.yaml"}
    table = pd.read_csv(mlflow.artifacts.download_artifacts(f"{run.info.artifact_uri}/trials.csv", tracking_uri=uri))
    assert list(table.columns) == ["key", "cell", "test/fine/recall@1"]


def test_the_address_of_the_cells(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()}, metrics={"cells": 1})
    found = find_study("study", uri)
    address = ui_address("study", "http://host:1/", uri)
    assert address == f"http://host:1/#/experiments/{found.experiment}/runs?viewStateShareKey=study"
    assert ui_address("study", uri=uri, charts=True).startswith("http://127.0.0.1:5000/#/experiments/")
    assert ui_addresses("http://host:1", uri) == {"study": address}
    assert "compareRunsMode=CHART" in ui_address("study", uri=uri, charts=True)
    state = json.loads(runs(uri)[0].get_experiment(found.experiment).tags[VIEW_TAG + "study"])
    assert "metrics.`test/fine/recall_at_1.mean`" in state["selectedColumns"]
    parallel = state["compareRunCharts"][0]
    assert (parallel["selectedParams"], parallel["selectedMetrics"]) == (
        ["loss", "rate"],
        ["objective.mean", "objective.low"],
    )
    (run,) = runs(uri)[0].search_runs([found.experiment], state["searchFilter"], order_by=[state["orderByKey"]])
    assert run.data.tags["dml.kind"] == "cell"


def test_the_address_of_a_study_of_an_earlier_version(uri, tmp_path):
    send(uri, tmp_path, {"cell": cell()})
    terms = parse_qs(urlsplit(urlsplit(ui_address("study", uri=uri)).fragment).query)
    assert terms["searchFilter"] == ["tags.`dml.study` = 'study' AND tags.`dml.kind` = 'cell'"]
    assert (terms["orderByKey"], terms["orderByAsc"]) == (["metrics.`objective.mean`"], ["false"])


def test_a_study_without_a_run_is_named_with_the_choices(uri, tmp_path):
    send(uri, tmp_path, {})
    with pytest.raises(ValueError, match=r"'studdy' has no run in MLflow .*did you mean 'study'"):
        ui_address("studdy", uri=uri)
    with pytest.raises(ValueError, match=r"nowhere\.db: no study was tracked here yet.*dml run quickstart"):
        ui_address("quickstart", uri=f"sqlite:///{tmp_path / 'nowhere.db'}")
    assert ui_addresses(uri=f"sqlite:///{tmp_path / 'nowhere.db'}") == {}
    assert not (tmp_path / "nowhere.db").exists()
