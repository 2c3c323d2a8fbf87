"""Methods in closed form beside a trained one: a sweep with the real training loop on the digits, and a champion."""

import json
import os
from types import SimpleNamespace

import mlflow
import numpy as np
import pandas as pd
import pytest

from dml import noise
from dml.config import ConfigError, Study
from dml.data import sources, splits
from dml.data.packing import open_packed, pack
from dml.evaluation import evaluate
from dml.files import write_json
from dml.sweep.champions import Wanted, train_champion
from dml.sweep.inputs.checking import check
from dml.training import closed_form
from dml.training import data as trial_data
from dml.training.closed_form import apply, fit
from dml.training.model_files import TrainedEmbedder

pytestmark = pytest.mark.slow

CONTENT = {
    "title": "Mine",
    "datasets": ["digits"],
    "noise": [{"name": "uniform", "rates": [0.2]}],
    "losses": ["triplet", "components", "whitening", "lda"],
    "positives": ["easy"],
    "negatives": ["random"],
    "search": {"sampler": "grid", "trials": 2},
    "seeds": [0, 1],
    "training": {"backbone": {"settings": {"width": 4}}, "embedding_size": 8, "steps": 4, "batch": {"classes": 2}},
    "evaluation": {"metrics": ["recall@1"], "every": 2},
}


def prepare(root, labels=None):
    """The outputs of the data stages; `labels` maps the training rows to other observed labels."""
    source = sources.build("digits")
    manifest = pack(source, root / "raw", root / "packed", report=lambda line: None)
    (root / "pack.json").write_text(json.dumps({"digits": {**manifest, "folder": "packed"}}))
    packed = trial_data.open_packed_of(root, "digits")
    splits.save(splits.make(packed.index, source), root / "split" / "digits.parquet")
    tables = []
    for phase in ("tune", "confirm"):
        rows = trial_data.training_rows(root, "digits", phase)
        tables.append(noise.table(rows, packed.index["fine"].to_numpy()[rows], [("uniform", 0.2, {})], [0, 1], phase))
    table = pd.concat(tables)
    if labels is not None:
        table["observed"] = labels(table)
    (root / "noise").mkdir()
    table.to_parquet(root / "noise" / "digits.parquet", index=False)


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:.*type hint:UserWarning")  # of MLflow, about its own classes
def test_rows_seeds_and_runs_beside_a_trained_method(workplace):
    prepare(workplace.folder)
    tracking = f"sqlite:///{workplace.folder / 'mlflow.db'}"
    workplace.sweep(real=True, tracking=tracking, **CONTENT)
    frame = pd.read_parquet(workplace.folder / "out" / "trials.parquet")
    assert set(frame["status"]) == {"finished"}
    assert frame.groupby("loss")["phase"].value_counts().to_dict() == {
        ("triplet", "tune"): 2,
        **{(name, "confirm"): 2 for name in ("triplet", "components", "whitening", "lda")},
    }
    packed = open_packed(workplace.folder / "packed")
    fine = packed.index["fine"].to_numpy()
    images = packed.images[:].reshape(len(fine), -1).astype(np.float32) / 255
    tested = pd.read_parquet(workplace.folder / "split/digits.parquet").query("final == 'test'")["index"].to_numpy()
    table = pd.read_parquet(workplace.folder / "noise/digits.parquet").query("phase == 'confirm'")
    for kind in ("components", "whitening", "lda"):
        for seed in (0, 1):
            own = table[table["seed"] == seed]
            found = fit(kind, images[own["index"]], own["observed"].to_numpy(), 8)
            expected = evaluate(apply(found, images[tested]), fine[tested], ["recall@1"])["recall@1"]
            row = frame[(frame["loss"] == kind) & (frame["seed"] == seed)].iloc[0]
            assert row["test/fine/recall@1"] == pytest.approx(expected, abs=2e-3), kind

    client = mlflow.MlflowClient(tracking_uri=tracking)
    experiment = client.get_experiment_by_name("dml").experiment_id
    runs = client.search_runs([experiment], "tags.`dml.kind` = 'trial'")
    assert sum(run.data.tags["dml.cell"].split("|")[2] == "whitening" for run in runs) == 2
    summary = json.loads((workplace.folder / "out" / "summary.json").read_text())
    assert {record["name"] for record in summary["untrained_by_noise"]} >= {"pixels, whitened", "pixels, 8 LDA"}


@pytest.mark.parametrize("kind", ["whitening", "lda"])
def test_a_champion_is_one_linear_layer(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(closed_form, "SCORED", 100)
    folder = tmp_path / "store/packed/digits"
    manifest = pack(sources.build("digits"), tmp_path / "raw", folder, report=lambda line: None)
    entry = {**manifest, "folder": os.path.relpath(folder, tmp_path / "data/mine")}
    write_json(tmp_path / "data/mine/pack.json", {"digits": entry})
    study = Study(**CONTENT, name="mine")
    cell = next(cell for cell in study.cells() if cell.loss.name == kind)
    asked = Wanted(study, cell, {}, 0.2, {"rate": 0.2})
    folders = (tmp_path / "data/mine", tmp_path / "store", tmp_path / "results")
    champion = train_champion(asked, "digits", *folders, report=lambda line: None)
    packed = open_packed(folder)
    embedder = TrainedEmbedder(champion.folder)
    every = packed.images[:].reshape(len(packed.index), -1).astype(np.float32) / 255
    found = fit(kind, every, packed.index["fine"].to_numpy(), 8)
    expected = apply(found, every[:20])
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(embedder(packed.images[:20]), unit, atol=1e-4)
    assert sum(p.numel() for p in embedder.network.parameters()) == 8 * 64 + 8


def checked(root, **changes):
    study = Study(**{**CONTENT, **changes}, name="mine")
    (root / "mine.yaml").write_text("losses: [triplet, components, whitening]\ntraining: {embedding_size: 80}\n")
    check(study, root, root / "mine.yaml", SimpleNamespace())


def test_one_image_a_class_is_an_error_before_anything_runs(tmp_path):
    prepare(tmp_path, labels=lambda table: np.arange(len(table)))
    with pytest.raises(
        ConfigError, match=r"mine.yaml:1.*digits.*whitening: expected at least one training class with two"
    ):
        checked(tmp_path, losses=["triplet", "components", "whitening"])
    for setting in ("head_start", "head_refit"):
        with pytest.raises(ConfigError, match=r"mine.yaml.*lda: expected at least one training class with two"):
            checked(tmp_path, losses=["triplet"], training={**CONTENT["training"], setting: "lda"})
    checked(tmp_path, losses=["triplet", "components"])
