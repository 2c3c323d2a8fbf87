"""Models in MLflow, and in its registry."""

import mlflow
import numpy as np
import pytest
from tracked import runs

from dml.tracking.registry import register_best
from dml.tracking.tracker import Tracker

LOADER = "tracked.load"
pytestmark = pytest.mark.filterwarnings("ignore:.*type hint:UserWarning")  # of MLflow, about its own classes


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "factor.json").write_text("2")
    return folder


def send(uri, tmp_path, folder, key="key", register=None):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    tracker.model(folder, LOADER, key, [2, 2, 1], 4, register)
    assert tracker.close() == 0


def test_a_model_has_a_signature_and_an_example_that_it_embeds(uri, tmp_path, model):
    send(uri, tmp_path, model)
    _, (run,) = runs(uri)
    logged = run.data.tags["dml.model"]
    mlflow.set_tracking_uri(uri)
    info = mlflow.models.get_model_info(logged)
    assert info.signature.inputs.input_types() == [np.dtype(np.uint8)]
    assert [tuple(spec.shape) for spec in info.signature.inputs.inputs] == [(-1, 2, 2, 1)]
    loaded = mlflow.pyfunc.load_model(logged)
    example = np.asarray(loaded.input_example, dtype=np.uint8)
    assert example.shape == (1, 2, 2, 1)
    np.testing.assert_array_equal(loaded.predict(example), 2 * example.reshape(1, -1).astype(np.float32))


def test_the_best_model_is_registered_once_and_another_one_is_the_next_version(uri, tmp_path, model):
    send(uri, tmp_path, model)
    assert register_best("study", "images", uri) == 1
    assert register_best("study", "images", uri) == 1
    assert register_best("study", "others", uri) == 1
    send(uri, tmp_path, model, key="better", register="images")
    send(uri, tmp_path, model, key="better", register="images")
    client, (run,) = runs(uri)
    versions = client.search_model_versions("name = 'images'")
    assert sorted(int(version.version) for version in versions) == [1, 2]
    assert {version.tags["dml.study"] for version in versions} == {"study"}
    assert {version.run_id for version in versions} == {run.info.run_id}
    mlflow.set_tracking_uri(uri)
    images = np.ones((3, 2, 2, 1), np.uint8)
    assert mlflow.pyfunc.load_model("models:/images/2").predict(images).shape == (3, 4)


def test_a_study_without_a_model_is_named(uri, tmp_path):
    tracker = Tracker("study", tmp_path / "spool.jsonl", uri)
    assert tracker.close() == 0
    with pytest.raises(ValueError, match=r"'study' in MLflow has no model: .*DML_PUBLISHED=off .*sweep@study"):
        register_best("study", "images", uri)
    with pytest.raises(ValueError, match="'nothing' has no run in MLflow"):
        register_best("nothing", "images", uri)
