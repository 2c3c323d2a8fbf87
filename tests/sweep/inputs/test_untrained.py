"""What trials start from, scored without training, on the images of the digits; against NumPy."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from stages import nearest_share, pack_digits

from dml import noise
from dml.data import splits
from dml.data.packing import open_packed
from dml.sweep.inputs import baselines
from dml.sweep.inputs.baselines import untrained_scores
from dml.types import DatasetSpec, EvaluationSpec, LossSpec, NoiseSpec, TrialSpec

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


def plan(*trials):
    """A plan whose trials of these seeds and datasets have ended."""
    jobs = []
    for seed, dataset in trials:
        data = DatasetSpec(dataset, packed="packed", split=f"split {seed}", labels="labels")
        evaluation = EvaluationSpec(metrics=("recall@1",), sets=("test",))
        spec = TrialSpec("confirm", seed, data, NoiseSpec("uniform", 0.0), LossSpec("triplet"), evaluation=evaluation)
        cell = SimpleNamespace(dataset=splits.dataset_of(dataset))
        jobs.append((SimpleNamespace(phase="confirm", spec=spec, cell=cell), None))
    study = SimpleNamespace(name="mine", splits=len({dataset for _, dataset in trials}))
    return SimpleNamespace(study=study, ended=lambda: jobs)


def expected(root, seed):
    """R@1 of the pixels of the test images by cosine."""
    packed = open_packed(root / "packed")
    fine = packed.index["fine"].to_numpy()
    rows = np.flatnonzero(np.isin(fine, TESTED[seed]))
    pixels = packed.images[rows].astype(float).reshape(len(rows), -1)
    pixels -= pixels.mean(axis=0)
    return nearest_share(pixels, fine[rows])


def test_class_splits_are_in_order_whichever_trial_came_first(monkeypatch):
    monkeypatch.setattr(baselines, "name_of", lambda spec, root: "net")
    monkeypatch.setattr(baselines, "_scored_start", lambda spec, *_: {"net": {KEY: int(spec.dataset.name[-1]) / 10}})
    trials = [(split, f"digits@{split}") for split in (1, 2, 0)]
    assert untrained_scores(plan(*trials), Path())[1] == {"digits": {"net": [{KEY: 0.0}, {KEY: 0.1}, {KEY: 0.2}]}}


def test_the_score_is_the_mean_over_the_splits_that_seeds_select(root):
    found, _ = untrained_scores(plan((0, "digits"), (1, "digits")), root, report=lambda line: None)
    one, other = expected(root, 0), expected(root, 1)
    assert abs(one - other) > 0.001
    assert found == {"digits": {"pixels": {KEY: pytest.approx((one + other) / 2, abs=2e-4)}}}
