"""Which model a user means."""

import json
from pathlib import Path

import pandas as pd
import pytest

from dml.cli.models import find_model


def trial(project, key, folder=True):
    path = project / "store/trials" / key
    path.mkdir(parents=True)
    if folder:
        (path / "model").mkdir()
        (path / "model/model.json").write_text(json.dumps({"network": {"backbone": "mlp", "embedding_size": 5}}))
    return path / "model"


def results(project, study, *rows):
    columns = ("key", "cell", "phase", "seed", "status", "objective")
    (project / "results" / study).mkdir(parents=True)
    path = project / "results" / study / "trials.parquet"
    pd.DataFrame([dict(zip(columns, row, strict=True)) for row in rows]).to_parquet(path)


def test_a_trials_folder_and_its_model_folder(project, monkeypatch):
    folder = trial(project, "abc123")
    assert find_model(str(folder)) == folder
    assert find_model(str(folder.parent)) == folder
    monkeypatch.chdir("/")  # no project is needed
    assert find_model(str(folder)) == folder


def test_the_first_digits_of_a_key(project):
    folder = trial(project, "abc123")
    trial(project, "abc999", folder=False)
    assert find_model("abc") == folder  # the other trial has no model
    with pytest.raises(ValueError, match="only confirmed trials that finished have one"):
        find_model("abc9")
    trial(project, "abc777")
    with pytest.raises(ValueError, match="2 trials begin with this: abc123, abc777; give more digits"):
        find_model("abc")


def test_a_study_is_its_best_cell_by_validation_and_that_cells_best_seed(project):
    folders = {key: trial(project, key) for key in ("a0", "a1", "b0", "b1")}
    rows = [("t0", "a", "tune", 0, "finished", 0.7), ("t1", "b", "tune", 0, "finished", 0.6)]
    rows += [("t2", "b", "tune", 0, "failed", 0.9)]
    rows += [("a0", "a", "confirm", 0, "finished", 0.3), ("a1", "a", "confirm", 1, "finished", 0.4)]
    rows += [("b0", "b", "confirm", 0, "finished", 0.8), ("b1", "b", "confirm", 1, "finished", 0.9)]
    results(project, "tuned", *rows)
    assert find_model("tuned") == folders["a1"]
    results(project, "fixed", *rows[3:])
    assert find_model("fixed") == folders["b1"]
    (folders["b1"] / "model.json").unlink()  # only some models are kept
    assert find_model("fixed") == folders["b0"]


def test_a_study_without_models_or_results_says_what_to_run(project):
    results(project, "published", ("gone", "a", "confirm", 0, "finished", 0.3))
    with pytest.raises(ValueError, match="DML_SNAPSHOTS=off dml run published"):
        find_model("published")
    with pytest.raises(ValueError, match="study 'tiny' has no results here: run it with `dml run tiny`"):
        find_model("tiny")


def test_a_folder_of_images_does_not_hide_the_study_of_its_name(project, monkeypatch):
    folder = trial(project, "a0")
    results(project, "photos", ("a0", "a", "confirm", 0, "finished", 0.3))
    (project / "photos").mkdir()
    monkeypatch.chdir(project)
    assert find_model("photos") == folder
    with pytest.raises(ValueError, match=r"no trained model: expected model\.json"):
        find_model("./photos")


def test_what_is_nothing_of_these_is_refused(project, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="expected a trial's folder, digits of its key"):
        find_model("nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"expected model\.json and model\.safetensors"):
        find_model(str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="Studies and keys are found in a project only"):
        find_model("tiny")


def test_a_model_of_mlflow_is_asked_of_the_projects_database(project, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        "dml.tracking.loading.model_folder", lambda *asks: asked.append((*asks, Path.cwd())) or tmp_path
    )
    monkeypatch.chdir(project / "pipelines")
    assert find_model("models:/best/1") == tmp_path
    assert asked == [("models:/best/1", "sqlite:///mlflow.db", project)]  # no path, which would have to be escaped
    assert Path.cwd() == project / "pipelines"
