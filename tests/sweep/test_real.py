"""The sweep with the real training loop on scikit-learn's digits: a worker is killed, and nothing changes."""

import json
import os
import signal
from dataclasses import replace

import driver
import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from real import prepare

from dml.sweep.plan import specs
from dml.training import data as trial_data
from dml.training.loop import Training

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:.*type hint:UserWarning"),  # of MLflow, about its own classes
]

OVERRIDES = {
    "losses": [
        {"name": "triplet", "positives": ["easy"], "negatives": ["random"]},
        {"name": "proxy_nca"},
    ],
    "positives": [],
    "negatives": [],
    "search": {"sampler": "fixed"},
    "datasets": [{"name": "digits", "train_on": "coarse", "evaluate_on": ["fine"]}],
    "training": {
        "backbone": {"settings": {"width": 4}},
        "embedding_size": 8,
        "steps": 400,
        "batch": {"classes": 2, "per_class": 16},
    },
    "evaluation": {"metrics": ["recall@1", "map@r"], "every": 40, "sets": ["test", "seen"]},
}


def uninterrupted(study, cell, seed, root, folder, every=None):
    """The same trial in this process, without a sweep; all its steps, evaluated every `every` ones if given."""
    digests = trial_data.describe(root, "digits", "uniform", 0.0, seed, "confirm")
    spec = specs.build(study, cell, "confirm", seed, {}, digests)
    spec = spec if every is None else replace(spec, evaluation=replace(spec.evaluation, every=every))
    training = Training(spec, root, folder)
    while not training.finished:
        training.advance()
    result = training.result()
    training.close()
    return result


def test_a_killed_worker_changes_no_bit_and_the_best_model_embeds_images(workplace, tmp_path):
    prepare(tmp_path)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    overrides = {**OVERRIDES, "seeds": [0]}
    process = workplace.start(real=True, tracking=uri, **overrides)
    checkpoint = workplace.wait(lambda: next(tmp_path.glob("store/trials/*/checkpoint/last.pt"), None), seconds=150)
    os.kill(int((checkpoint.parents[1] / "lock").read_text()), signal.SIGKILL)
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["resumed"] == 1, text
    assert summary["data"]["digits"]["roles"]["train"]["classes"] == 2  # even and odd

    frame = pd.read_parquet(tmp_path / "out" / "trials.parquet")
    assert list(frame["status"]) == ["finished"] * 2, list(frame["error"])
    study = driver.study(**overrides)
    cells = {cell.name: cell for cell in study.cells()}
    torch.set_num_threads(1)
    for row in frame.to_dict("records"):
        result = uninterrupted(study, cells[row["cell"]], row["seed"], tmp_path, tmp_path / "bare" / row["key"])
        assert {name: row[name] for name in result.scores} == dict(result.scores)
        assert json.loads(row["curve"]) == [[point.step, dict(point.scores)] for point in result.curve]

    client = mlflow.MlflowClient(tracking_uri=uri)
    mlflow.set_tracking_uri(uri)
    experiment = client.get_experiment_by_name("dml")
    (model,) = client.search_logged_models([experiment.experiment_id])
    images = trial_data.open_packed_of(tmp_path, "digits").images[:10]
    embeddings = mlflow.pyfunc.load_model(model.model_uri).predict(np.ascontiguousarray(images))
    assert embeddings.shape == (10, 8)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)


def test_a_study_stops_where_validation_classes_were_best(workplace, tmp_path):
    """Digits with even and odd as labels collapse, so more steps are soon worse for new digits."""
    prepare(tmp_path, ("tune", "confirm"))
    search = {"sampler": "fixed", "stop": "best", "objective": "map@r"}
    overrides = {**OVERRIDES, "losses": [{"name": "softmax"}], "search": search}
    overrides["training"] = {**OVERRIDES["training"], "steps": 60, "schedule": "cosine"}
    overrides["evaluation"] = {"metrics": ["recall@1", "map@r"], "sets": ["test"]}
    workplace.sweep(real=True, **overrides)
    frame = pd.read_parquet(tmp_path / "out" / "trials.parquet")
    assert list(frame["phase"]) == ["tune", "confirm", "confirm"], list(frame["error"])
    curve = {step: scores["validation/fine/map@r"] for step, scores in json.loads(frame["curve"][0])}
    assert list(curve) == list(range(0, 61, 6))
    stop = max(curve, key=lambda step: (curve[step], -step))
    assert frame["objective"][0] == curve[stop]
    study = driver.study(**overrides)
    (cell,) = study.cells()
    torch.set_num_threads(1)
    for row in frame[1:].to_dict("records"):
        assert json.loads(row["settings"])["training.stop_at"] == stop
        assert [step for step, _ in json.loads(row["curve"])] == [stop]
        whole = uninterrupted(study, cell, row["seed"], tmp_path, tmp_path / "bare" / row["key"], stop or 1)
        point = next(point for point in whole.curve if point.step == stop) if stop else None
        assert point is None or {name: row[name] for name in point.scores} == dict(point.scores)
