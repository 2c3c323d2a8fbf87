"""Models in MLflow, and in its registry."""

import shutil

import mlflow
import numpy as np
import pytest
from tracked import picture, runs

from dml.tracking import Model, Picture, Run
from dml.tracking.connection import LOCAL, follow_move, model_folder
from dml.tracking.sync import sync, version_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*type hint:UserWarning"),  # of MLflow, about its own classes
]


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "factor.json").write_text("2")
    return folder


def send(uri, folder, key="key", **names):
    model = Model(folder, key, [2, 2, 1], 4, loader="tracked.load", **names)
    assert sync(Picture("study", picture(model=model).runs[:1]), uri) == ""


def test_a_model_has_a_signature_and_an_example_that_it_embeds(uri, model):
    send(uri, model)
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


def test_the_best_model_is_registered_once_and_another_one_is_the_next_version(uri, model):
    for names in ({}, {"register": "images"}, {"register": "images"}, {"register": "others"}):
        send(uri, model, **names)
    send(uri, model, key="better", register="images")
    send(uri, model, key="better", register="images")
    client, (run,) = runs(uri)
    versions = client.search_model_versions("name = 'images'")
    assert sorted(int(version.version) for version in versions) == [1, 2]
    assert {version.tags["dml.study"] for version in versions} == {"study"}
    assert {version.run_id for version in versions} == {run.info.run_id}
    mlflow.set_tracking_uri(uri)
    images = np.ones((3, 2, 2, 1), np.uint8)
    assert mlflow.pyfunc.load_model("models:/images/2").predict(images).shape == (3, 4)


def test_a_copied_project_has_its_own_models_and_leaves_the_first_one_alone(model, tmp_path, monkeypatch):
    (model / "model.json").write_text("{}")
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    for folder in (first, second):
        if folder == second:
            shutil.copytree(first, second)
        monkeypatch.chdir(folder)
        follow_move(LOCAL)
        uri = f"sqlite:///{folder / 'mlflow.db'}"  # MLflow keeps a database open by its address
        send(uri, model, key=folder.name, register="images")
    for version in ("1", "2"):
        assert model_folder(f"models:/images/{version}", uri).is_relative_to(second / "mlartifacts")
    assert len(list((first / "mlartifacts").rglob("model.json"))) == 1


def test_the_champion_that_is_asked_for_last_has_the_alias(uri, model):
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
    (study,) = picture().runs[:1]

    def champion(identity, alias):
        tags = {"dml.identity": identity, "dml.key": "k"}
        own = Model(model, identity, [2, 2, 1], 4, "champion", "petals", alias, "tracked.load")
        return Run("champion", "petals, champion", study, tags=tags, params={"rate": 0.2}, model=own)

    for first, second, version in (("champion", None, 1), (None, "champion", 2), ("champion", None, 1)):
        shown = [study, champion("first", first), champion("second", second)]
        assert sync(Picture("study", shown), uri) == ""
        assert version_of("petals", uri) == version
        assert len(client.search_model_versions("name = 'petals'")) == 2
    found = runs(uri, "champion")[1]
    assert {run.data.tags["mlflow.parentRunId"] for run in found} == {runs(uri, "study")[1][0].info.run_id}
    assert {run.info.status for run in found} == {"FINISHED"}
