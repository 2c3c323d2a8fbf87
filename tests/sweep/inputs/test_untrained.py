"""What trials start from, scored without training, on the images of the digits; against NumPy."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from real import pack_digits

from dml import noise
from dml.data import splits
from dml.data.packing import open_packed
from dml.sweep.inputs import baselines
from dml.sweep.inputs.baselines import untrained_scores
from dml.types import DatasetSpec, EvaluationSpec, LossSpec, NoiseSpec, TrainingSpec, TrialSpec

KEY = "test/fine/recall@1"
TESTED = {0: range(5, 10), 1: range(5)}  # by seed, the classes that test


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The outputs of the data stages: of the digits, seeds select which half of the classes tests."""
    root = tmp_path_factory.mktemp("data")
    fine = pack_digits(root)["fine"].to_numpy()
    (root / "split/digits").mkdir(parents=True)
    tables = []
    for seed, classes in TESTED.items():
        tests = np.isin(fine, classes)
        final, tune = np.where(tests, "test", "train"), np.where(tests, "unused", "train")
        split = pd.DataFrame({"index": np.arange(len(fine)), "final": final, "tune": tune})
        split.to_parquet(root / f"split/digits/{seed}.parquet", index=False)
        rows = np.flatnonzero(~tests)
        tables.append(noise.table(rows, fine[rows], [("uniform", 0.0, {})], [seed], "confirm"))
    (root / "noise").mkdir()
    pd.concat(tables).to_parquet(root / "noise/digits.parquet", index=False)
    return root


def job(seed, dataset="digits", sets=("test",), phase="confirm", steps=10, views="one"):
    spec = TrialSpec(
        phase,
        seed,
        DatasetSpec(dataset, packed="packed", split=f"split {seed}", labels="labels"),
        NoiseSpec("uniform", 0.0),
        LossSpec("triplet", {}),
        None,
        TrainingSpec(steps=steps),
        EvaluationSpec(metrics=("recall@1",), sets=sets, views=views),
    )
    return SimpleNamespace(phase=phase, spec=spec, cell=SimpleNamespace(dataset=splits.dataset_of(dataset)))


def scored(root, *jobs):
    """(the scores, what was reported)."""
    lines = []
    plan = SimpleNamespace(study=SimpleNamespace(name="mine", splits=1), ended=lambda: [(job, None) for job in jobs])
    return untrained_scores(plan, root, lines.append)[0], lines


def expected(root, seed, training=False, mirror=False):
    """R@1 of the pixels by cosine, of the test or the training images, or joined with those of their mirror images."""
    packed = open_packed(root / "packed")
    fine = packed.index["fine"].to_numpy()
    rows = np.flatnonzero(np.isin(fine, TESTED[seed]) != training)
    given = packed.images[rows].astype(float)
    views = [images.reshape(len(rows), -1) for images in (given, given[:, :, ::-1])[: 1 + mirror]]
    views = [view - np.mean(views, axis=(0, 1)) for view in views]
    unit = sum(view / np.linalg.norm(view, axis=1, keepdims=True) for view in views)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return np.mean(fine[rows][similarity.argmax(axis=1)] == fine[rows])


def test_class_splits_are_in_order_whichever_trial_came_first(monkeypatch):
    monkeypatch.setattr(baselines, "name_of", lambda spec, root: "net")
    monkeypatch.setattr(baselines, "_scored_start", lambda spec, *_: {"net": {KEY: int(spec.dataset.name[-1]) / 10}})
    jobs = [job(split, f"digits@{split}") for split in (1, 2, 0)]
    plan = SimpleNamespace(study=SimpleNamespace(name="mine", splits=3), ended=lambda: [(one, None) for one in jobs])
    assert untrained_scores(plan, Path())[1] == {"digits": {"net": [{KEY: 0.0}, {KEY: 0.1}, {KEY: 0.2}]}}


def test_the_score_is_the_mean_over_the_splits_that_seeds_select(root):
    found, _ = scored(root, job(0), job(1))
    one, other = expected(root, 0), expected(root, 1)
    assert abs(one - other) > 0.001
    assert found == {"digits": {"pixels": {KEY: pytest.approx((one + other) / 2, abs=2e-4)}}}
