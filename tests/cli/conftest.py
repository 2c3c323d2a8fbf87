"""A project to run commands in, a folder of images, and a trained model of them."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from dml import models
from dml.cli import collection
from dml.cli.main import app
from dml.sweep import cost as costs
from dml.training.model_files import save_model

ROOT = Path(__file__).parents[2]
TINY = """\
title: A study of seconds
datasets:
  - name: digits
    train_on: coarse
losses: [triplet]
positives: [random, easy]
negatives: [random]
seeds: [0, 1]
search: {sampler: fixed}
training: {backbone: mlp, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
"""
NOISE = "noise: [{name: uniform, rates: [0.0, 0.4]}]\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one study, `tiny`, which is chosen; the working directory. Nothing was computed."""
    root = tmp_path / "project"
    (root / "pipelines/studies").mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, root / name)
    (root / "params.yaml").write_text("# a comment\nstudies:\n- tiny\n")
    (root / "pipelines/studies/tiny.yaml").write_text(TINY)
    monkeypatch.chdir(root)
    for variable in ("RAY_ADDRESS", "MLFLOW_TRACKING_URI", "DML_MIRROR", "DML_SNAPSHOTS"):
        monkeypatch.delenv(variable, raising=False)
    return root


@pytest.fixture
def timed():
    """A test with this fixture times steps as a user's command does, which takes a few seconds."""


@pytest.fixture(autouse=True)
def _quick(request, monkeypatch, tmp_path):
    """The cost of a study, without timing any step; features are kept below the test's folder, and of pixels."""

    def missing(options):
        raise ValueError("no weights")

    monkeypatch.setenv("DML_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(collection, "_of_network", missing)
    if "timed" not in request.fixturenames:
        monkeypatch.setattr(costs, "time_steps", lambda *_: (0.01, 0.001))


@pytest.fixture
def swept(project):
    """The project with results of `tiny` at the rates 0 and 0.4; easy positives lead."""
    study = project / "pipelines/studies/tiny.yaml"
    study.write_text(study.read_text() + NOISE)
    rows = []
    for rate in (0.0, 0.4):
        for positives, score in {"easy": 0.8, "random": 0.6}.items():
            for seed in (0, 1):
                value = score - rate * (1 + seed / 10)
                rows.append(finished(rate, positives, seed, value))
    folder = project / "results" / "tiny"
    folder.mkdir(parents=True)
    pd.DataFrame(rows).to_parquet(folder / "trials.parquet")
    return project


def finished(rate, positives, seed, value):
    return {
        "key": f"{rate}{positives}{seed}",
        "study": "tiny",
        "cell": f"digits|uniform-{rate:g}|triplet|{positives}+random",
        "phase": "confirm",
        "number": seed,
        "seed": seed,
        "status": "finished",
        "error": "",
        "dataset": "digits",
        "noise": "uniform",
        "rate": rate,
        "loss": "triplet",
        "positives": positives,
        "negatives": "random",
        "settings": json.dumps({"loss.margin": 0.2}),
        "objective": value,
        "seconds": 1.0,
        "curve": "[]",
        "diagnostics": "{}",
        "started": "",
        "test/fine/recall@1": value,
    }


@pytest.fixture
def dml():
    """Runs a command: `code`, `out` (what it printed) and `err` (messages)."""

    def run(*arguments: object, answer: str | None = None) -> SimpleNamespace:
        wide = {"COLUMNS": "1000"}  # else Rich breaks messages at places that depend on the temporary folder's name
        done = CliRunner().invoke(app, [str(one) for one in arguments], input=answer, env=wide)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return SimpleNamespace(code=done.exit_code, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture
def programs(monkeypatch):
    """The Python programs that commands start, recorded and not run."""
    started = []

    def run(project, *command, check=True):
        started.append(command)
        return 0

    monkeypatch.setattr("dml.cli.project.Project.run", run)
    return started


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Six classes of eight images: plain colours with noise, 40 x 30 pixels and larger."""
    root = tmp_path_factory.mktemp("photos")
    generator = np.random.default_rng(0)
    for number in range(6):
        folder = root / f"kind{number}"
        folder.mkdir()
        colour = generator.integers(0, 256, 3)
        for image in range(8):
            pixels = np.clip(colour + generator.normal(0, 20, (30 + image, 40, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{image}.png")
    return root


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The folder of a network for colour images of 12 x 12 pixels, 5 numbers."""
    folder = tmp_path_factory.mktemp("trial") / "model"
    network = {"backbone": "mlp", "embedding_size": 5, "channels": 3, "image_size": 12}
    description = {"network": network, "augment": {"name": "none", "channels": 3}, "normalize": True}
    save_model(folder, models.build(**network), {**description, "image_shape": [12, 12, 3]})
    return folder
