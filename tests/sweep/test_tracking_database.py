"""MLflow on PostgreSQL, with two sweeps that log at once: each run is there once, also if both servers crash."""

from __future__ import annotations

import json
from collections import Counter

import mlflow
import pandas as pd
import pytest
from tracking_server import Database, Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def database():
    pytest.importorskip("psycopg2")
    database = Database()
    database.start()
    yield database
    database.remove()


@pytest.fixture
def server(tmp_path, database):
    server = Server(tmp_path, database.uri)
    server.start()
    yield server
    server.kill()


def test_two_sweeps_at_once_and_both_servers_crash(workplace, server, database):
    names, environment = ("first", "second"), {"DML_TRACKING_PATIENCE": "120"}
    places = {name: workplace.beside(name) for name in names}
    for place in places.values():
        place.orders(seconds=0.05)
    sweeps = {name: places[name].start(environment, name=name, tracking=server.uri) for name in names}
    for place in places.values():
        place.wait(lambda place=place: len(place.results()) >= 2, seconds=120)
    database.kill()
    server.kill()
    database.start()
    server.start()
    for sweep in sweeps.values():
        text, _ = sweep.communicate(timeout=250)
        assert sweep.returncode == 0, text
    client = mlflow.MlflowClient(tracking_uri=server.uri)
    experiment = client.get_experiment_by_name("dml").experiment_id
    runs = client.search_runs([experiment], max_results=1000)
    for name in names:
        frame = pd.read_parquet(places[name].folder / "out" / "trials.parquet")
        own = [run for run in runs if run.data.tags["dml.study"] == name]
        assert {run.info.status for run in own} == {"FINISHED"}
        kinds = Counter(run.data.tags["dml.kind"] for run in own)
        assert kinds == {"study": 1, "cell": 2, "trial": len(frame)}
        trials = {run.data.tags["dml.key"]: run for run in own if run.data.tags["dml.kind"] == "trial"}
        assert set(trials) == set(frame["key"])
        assert all(run.info.end_time >= run.info.start_time for run in own)
        row = frame.iloc[-1]
        history = client.get_metric_history(trials[row["key"]].info.run_id, "test/fine/recall_at_1")
        curve = [(step, scores["test/fine/recall@1"]) for step, scores in json.loads(row["curve"])]
        assert [(point.step, point.value) for point in history] == curve
        assert not list(places[name].folder.glob("store/sweeps/*.jsonl"))
