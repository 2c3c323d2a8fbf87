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
from stages import prepare

from dml.sweep.plan import specs
from dml.training import data as trial_data
from dml.training.loop import Training

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:.*type hint:UserWarning"),  # of MLflow, about its own classes
]

OVERRIDES = {
    "losses": [{"name": "triplet", "positives": ["easy"], "negatives": ["random"]}, {"name": "proxy_nca"}],
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
