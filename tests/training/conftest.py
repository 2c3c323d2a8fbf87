"""Scikit-learn's digits taken through the data stages once, and trial specs on them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from dml import discovery, noise
from dml.data import splits
from dml.data.packed import pack
from dml.training import data as trial_data
from dml.types import TrialSpec


@pytest.fixture(scope="session")
def data_root(tmp_path_factory) -> Path:
    """The outputs of download, pack, split and corrupt for digits, uniform noise 0 and 0.3, seeds 0 and 1."""
    base = tmp_path_factory.mktemp("digits")
    root, folder = base / "data", base / "packed"
    source = discovery.build("dml.data.sources", "digits")
    manifest = pack(source, base / "raw", folder, report=lambda line: None)
    root.mkdir()
    (root / "pack.json").write_text(json.dumps({"digits": {**manifest, "folder": os.path.relpath(folder, root)}}))
    packed = trial_data.open_packed_of(root, "digits")
    splits.save(splits.make(packed.index, source), root / "split" / "digits.parquet")
    tables = []
    for phase in ("tune", "confirm"):
        rows = trial_data.training_rows(root, "digits", phase)
        labels = packed.index["coarse"].to_numpy()[rows]
        models = [("uniform", 0.0, {}), ("uniform", 0.3, {})]
        tables.append(noise.table(rows, labels, models, [0, 1], phase))
    (root / "noise").mkdir()
    pd.concat(tables).to_parquet(root / "noise" / "digits.parquet", index=False)
    return root


@pytest.fixture
def make_spec(data_root):
    """A function that makes a trial's spec; keywords replace entries of `training` and `evaluation`."""

    def make(
        loss: str = "triplet",
        positives: str | None = "easy",
        negatives: str | None = "semihard_random",
        *,
        phase: str = "confirm",
        seed: int = 0,
        rate: float = 0.3,
        loss_settings: dict | None = None,
        evaluation: dict | None = None,
        **training,
    ) -> TrialSpec:
        return TrialSpec(
            phase=phase,
            seed=seed,
            dataset={
                "name": "digits",
                "train_on": "coarse",
                "evaluate_on": ["fine"],
                **trial_data.describe(data_root, "digits", "uniform", rate, seed, phase),
            },
            noise={"model": "uniform", "rate": rate, "settings": {}},
            loss={"name": loss, "settings": loss_settings or {}},
            miner={"positives": positives, "negatives": negatives, "settings": {}} if positives else None,
            training={
                "backbone": "small_conv",
                "backbone_settings": {"width": 4},
                "embedding_size": 8,
                "normalize": True,
                "steps": 12,
                "batch": {"sampler": "balanced", "classes": 2, "per_class": 8},
                "optimizer": "adam",
                "learning_rate": 1e-3,
                "weight_decay": 0.0,
                "loss_learning_rate": None,
                "schedule": "cosine",
                "augment": "none",
                "augment_settings": {},
                "precision": "float32",
                "channels_last": False,
                "compile": False,
                "devices": 1,
                "keep_checkpoints": [],
                **training,
            },
            evaluation={
                "metrics": ["recall@1", "nmi"],
                "every": 4,
                "sets": ["test", "seen"],
                "keep_embeddings": False,
                **(evaluation or {}),
            },
            numerics="test",
        )

    return make
