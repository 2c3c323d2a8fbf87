"""Champions in MLflow's registry: one version for each model, and the alias on the latest one."""

import mlflow
import numpy as np
import pytest

from dml.tracking.champions import Champions
from dml.tracking.tracker import Tracker, TrackingError

LOADER = "tracked.load"
pytestmark = pytest.mark.filterwarnings("ignore:.*type hint:UserWarning")  # of MLflow, about its own classes


@pytest.fixture
def log(uri, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "factor.json").write_text("2")
    (folder / "card.json").write_text('{"study": "flowers"}')
    record = {"folder": str(folder), "loader": LOADER, "image_shape": [2, 2, 1], "embedding_size": 4}
    record["card"] = "card.json"

    def send(identity, name="petals"):
        champions = Champions(uri)
        return champions.log(name, "flowers", identity, record, {"rate": 0.2}, {"map@r": 0.5}, {"dml.key": "k"})

    return send


def test_each_model_is_a_version_and_the_latest_has_the_alias(uri, tmp_path, log):
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)

    def alias(name="petals"):
        return int(client.get_model_version_by_alias(name, "champion").version)

    assert (log("first"), alias()) == (1, 1)
    assert (log("second"), alias()) == (2, 2)
    assert (log("first"), alias()) == (1, 1)
    assert (log("first", "leaves"), alias("leaves"), alias()) == (1, 1, 1)
    mlflow.set_tracking_uri(uri)
    images = np.ones((3, 2, 2, 1), np.uint8)
    assert mlflow.pyfunc.load_model("models:/petals@champion").predict(images).shape == (3, 4)
    experiment = client.get_experiment_by_name("dml")
    assert experiment.artifact_location == (tmp_path / "mlartifacts").as_uri()
    runs = client.search_runs([experiment.experiment_id], "tags.`dml.kind` = 'champion'")
    assert {run.data.tags["dml.identity"] for run in runs} == {"first", "second"}
    assert {(run.info.status, run.data.params["rate"], run.data.metrics["map_at_r"]) for run in runs} == {
        ("FINISHED", "0.2", 0.5)
    }
    assert [entry.path for entry in client.list_artifacts(runs[0].info.run_id)] == ["card.json"]


def test_a_champion_is_below_its_study_and_the_studys_next_sweep_leaves_it_alone(uri, tmp_path, log):
    assert Tracker("flowers", tmp_path / "spool.jsonl", uri).close() == 0
    assert log("first") == 1
    tracker = Tracker("flowers", tmp_path / "spool.jsonl", uri)
    assert tracker.close() == 0
    client = mlflow.MlflowClient(tracking_uri=uri)
    runs = client.search_runs([client.get_experiment_by_name("dml").experiment_id])
    by_kind = {run.data.tags["dml.kind"]: run for run in runs}
    assert len(runs) == 2
    assert by_kind["champion"].data.tags["mlflow.parentRunId"] == by_kind["study"].info.run_id


def test_a_server_that_does_not_answer_is_an_error():
    with pytest.raises(TrackingError, match=r"no MLflow tracking server answers at http://127\.0\.0\.1:9 "):
        Champions("http://127.0.0.1:9")
