"""Methods in closed form beside a trained one: a sweep with the real training loop on the digits, and a champion."""

import json

import mlflow
import numpy as np
import pandas as pd
import pytest

from dml import noise
from dml.data import sources, splits
from dml.data.packing import open_packed, pack
from dml.evaluation import evaluate
from dml.training import data as trial_data
from dml.training.closed_form import apply, fit

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
