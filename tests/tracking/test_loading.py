"""A model that a run logged is found again; what is none of dml's is refused."""

import mlflow
import pytest

from dml.tracking.connection import model_folder

pytestmark = pytest.mark.slow  # MLflow creates a database


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'mlflow.db'}"


@pytest.fixture(scope="module")
def run(uri, tmp_path_factory):
    """A run with a model's folder, as MLflow arranges it, and another folder."""
    folder = tmp_path_factory.mktemp("logged")
    (folder / "best/artifacts/model").mkdir(parents=True)
    (folder / "best/artifacts/model/model.json").write_text("{}")
    (folder / "other").mkdir()
    (folder / "other/page.html").write_text("")
    client = mlflow.MlflowClient(tracking_uri=uri)
    location = tmp_path_factory.mktemp("artifacts").as_uri()
    found = client.create_run(client.create_experiment("dml", artifact_location=location))
    client.log_artifacts(found.info.run_id, str(folder))
    return found.info.run_id


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def test_a_logged_model_is_a_folder_with_its_description(uri, run):
    folder = model_folder(f"runs:/{run}/best", uri)
    assert (folder.name, (folder / "model.json").read_text()) == ("model", "{}")


@pytest.mark.parametrize("name", ["models:/nothing/1", "runs:/0123456789abcdef/best"])
def test_what_mlflow_does_not_have_is_named_with_its_address(uri, run, name):
    with pytest.raises(ValueError, match=f"{name}: MLflow at {uri} has no such model"):
        model_folder(name, uri)
