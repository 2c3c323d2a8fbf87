import numpy as np
import pytest

from dml.config import ResourcesSection
from dml.evaluation.compressed import evaluate_compressed
from dml.sweep.execution.huge_evaluation import evaluate_in_workers

pytestmark = pytest.mark.slow


def test_workers_give_the_scores_of_one_process(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    y = draw.integers(500, size=70_000)
    np.save(
        tmp_path / "x.npy", (draw.normal(size=(500, 8))[y] + 0.5 * draw.normal(size=(70_000, 8))).astype(np.float16)
    )
    given = {"candidates": 50, "probes": 8, "checked": 200, "queries": 5000}
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_SHARD", 1 << 15)
    there = evaluate_in_workers(
        ResourcesSection(cpus_per_trial=1), tmp_path / "x.npy", y, ["recall@1", "nmi"], folder=tmp_path / "a", **given
    )
    here = evaluate_compressed(tmp_path / "x.npy", y, ["recall@1", "nmi"], folder=tmp_path / "b", **given)
    assert there["recall@1"] == here["recall@1"]
    assert there["nmi"] == pytest.approx(here["nmi"], abs=1e-9)
    assert there.accuracy == here.accuracy
