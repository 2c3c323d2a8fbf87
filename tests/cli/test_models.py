"""Which model a user means."""

import json
from pathlib import Path

import pandas as pd
import pytest

from dml.cli.models import find_model


def trial(project, key):
    folder = project / "store/trials" / key / "model"
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(json.dumps({"network": {"backbone": "mlp", "embedding_size": 5}}))
    return folder


def results(project, study, *rows, **columns):
    """A table of trials: key, cell, phase, seed, status and objective, of one dataset without noise."""
    (project / "results" / study).mkdir(parents=True)
    frame = pd.DataFrame(rows, columns=["key", "cell", "phase", "seed", "status", "objective"])
    frame = frame.assign(dataset="digits", noise="uniform", rate=0.0).assign(**columns)
    frame.to_parquet(project / "results" / study / "trials.parquet")


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


U0, U2 = ("uniform", 0.0), ("uniform", 0.2)
GIVEN, TOPLINE = ("given", 0.18), ("subset", 0.3)
FILE, OTHER = ("label_file:reviewed", 0.0), ("label_file:people", 0.3)


def test_scores_of_several_class_splits_do_not_compare(project):
    """A cell counts by its mean over splits, and the model is of the first one, whatever seeds of others score."""
    keys = ("even0", "even1", "uneven0", "uneven1")
    folders = {key: trial(project, key) for key in keys}
    scores = {"even": (0.6, 0.7), "uneven": (0.9, 0.2)}
    rows = [("t", cell, "tune", 0, "finished", own[split]) for cell, own in scores.items() for split in (0, 1)]
    for number, (_, cell, *_, score) in enumerate(rows.copy()):
        rows.append((f"{cell}{number % 2}", cell, "confirm", 0, "finished", score))
    results(project, "folds", *rows, split=[0, 1] * 4)
    assert find_model("folds") == folders["even0"]


def test_a_model_of_mlflow_is_asked_of_the_projects_database(project, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        "dml.tracking.connection.model_folder", lambda *asks: asked.append((*asks, Path.cwd())) or tmp_path
    )
    monkeypatch.chdir(project / "pipelines")
    assert find_model("models:/best/1") == tmp_path
    assert asked == [("models:/best/1", "sqlite:///mlflow.db", project)]  # no path, which would have to be escaped
    assert Path.cwd() == project / "pipelines"


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((U0, U2), "uniform-0.0"),
        ((("asymmetric", 0.0), ("asymmetric", 0.3)), "asymmetric-0.0"),
        ((GIVEN, U0, U2, TOPLINE), "given-0.18"),  # the labels of `uniform` are verified ones, which nobody has
        ((U0, FILE, TOPLINE), "uniform-0.0"),
        ((OTHER, U2), "label_file-people-0.3"),  # wrong as they came, and not made so
    ],
)
@pytest.mark.parametrize("tuned", [True, False])
def test_models_for_use_are_trained_with_labels_as_given(project, levels, expected, tuned):
    """A cell and a model at each level are called `<noise>-<rate>`; the last scores highest."""
    rows, columns = [], []
    for number, (noise, rate) in enumerate(levels):
        name = f"{noise}-{rate}".replace(":", "-")
        trial(project, name)
        for phase in ["tune"] * tuned + ["confirm"]:
            rows.append((name, name, phase, 0, "finished", 0.5 + number / 10))
            columns.append((noise, rate))
    noises, rates = zip(*columns, strict=True)
    results(project, "photos", *rows, noise=noises, rate=rates)
    assert find_model("photos").parent.name == expected
