"""Snapshots: what is published is what was measured, whole and small; and what has changed is said."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dml.config import load_study
from dml.report.loading import load
from dml.snapshots import Snapshot, publish, publishing, snapshots
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
STUDY = """
title: Toys
datasets: [{name: digits, train_on: coarse}]
noise: [{name: uniform, rates: [0.0, 0.4]}]
losses: [triplet]
positives: [random, easy]
negatives: [random]
grid: {training.steps: [10, 20]}
seeds: [0, 1, 2]
search: {sampler: tpe, trials: 2, stop: last}
evaluation: {metrics: [recall@1, nmi]}
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "toys.yaml"
    path.write_text(STUDY)
    return load_study(path)


def frame_of(study) -> pd.DataFrame:
    """Invented trials: two of tuning and three of confirmation for each cell."""
    rng = np.random.default_rng(0)
    rows = []
    for place, cell in enumerate(study.cells()):
        for phase, numbers in (("tune", range(2)), ("confirm", range(3))):
            for number in numbers:
                part = "validation" if phase == "tune" else "test"
                score, steps = float(rng.random()), range(1, 101)
                key = f"{part}/fine/recall@1"
                row = {"key": f"{place:02x}{number}{phase[0] == 'c':b}".ljust(64, "0"), "cell": cell.name}
                row |= {"phase": phase, "number": number, "seed": number, "status": "finished", "error": ""}
                row |= {"study": study.name, "dataset": cell.dataset, "noise": cell.noise, "rate": cell.rate}
                row |= {"loss": "triplet", "positives": cell.positives, "negatives": cell.negatives}
                row |= {
                    "varied": json.dumps(cell.grid_point),
                    "settings": json.dumps({"loss.margin": float(rng.random())}),
                }
                row |= {"seconds": 1.23456, "started": "2026-01-01T00:00:00+00:00", "objective": score, key: score}
                row |= {"test/fine/nmi": float(rng.random()) if phase == "confirm" else np.nan}
                row |= {"curve": json.dumps([[s, {key: score * s / 100, "other": 1.0}] for s in steps])}
                rows.append(row | {"diagnostics": json.dumps({"loss": 0.123456789, "eta_drawn": [1.0, 2.0]})})
    return pd.DataFrame(rows)


@pytest.fixture
def folder(tmp_path, study):
    return written(tmp_path, frame_of(study))


def written(tmp_path, frame, commit="0" * 40) -> Path:
    folder = tmp_path / "results"
    folder.mkdir(exist_ok=True)
    frame.to_parquet(folder / "trials.parquet")
    (folder / "summary.json").write_text(json.dumps({"git_commit": commit, "seconds": 5.0, "host": "mine", "data": {}}))
    return folder


def test_a_snapshot_gives_back_the_trials(tmp_path, study, folder):
    publish(study, folder, tmp_path / "out")
    (snapshot,) = snapshots(tmp_path / "out")
    found, before = snapshot.trials(), frame_of(study)
    assert list(found["key"]) == [key[:20] for key in before["key"]]
    same = ["cell", "phase", "number", "seed", "status", "dataset", "noise", "rate", "loss", "positives", "varied"]
    pd.testing.assert_frame_equal(found[same], before[same], check_dtype=False)
    assert found["settings"].tolist() == before["settings"].tolist()
    for column in ("objective", "test/fine/recall@1", "test/fine/nmi"):
        np.testing.assert_allclose(found[column], before[column], rtol=1e-6)
    tuned = before["phase"] == "tune"
    assert found["validation/fine/recall@1"][tuned].tolist() == before["validation/fine/recall@1"][tuned].tolist()
    assert "host" not in snapshot.summary()
    assert "data" in snapshot.summary()


def test_of_what_is_too_large_scores_of_classes_leave_first(tmp_path, study, folder, monkeypatch):
    names = ["classes/key/test/fine/recall@5/mean", "classes/key/test/mean", "planes/key/test/points"]
    for kept in (names, names[1:], names[2:]):
        publish(study, folder, tmp_path / "out", {name: np.random.default_rng(0).random(500) for name in names})
        snapshot = Snapshot(tmp_path / "out" / study.name)
        assert sorted(snapshot.figures()) == sorted(kept)
        monkeypatch.setattr(publishing, "LARGEST", snapshot.size - 1)


def test_curves_are_thinned_to_the_objective_and_end_with_the_last_point(tmp_path, study, folder):
    publish(study, folder, tmp_path / "out")
    found = Snapshot(tmp_path / "out/toys").trials()
    curves = [json.loads(text) for text in found["curve"]]
    for phase, curve in zip(found["phase"], curves, strict=True):
        assert len(curve) == (0 if phase == "tune" else 20)
        assert all(list(scores) == ["test/fine/recall@1"] for _, scores in curve)
        assert not curve or curve[-1][0] == 100


def test_its_trials_count_as_stored(tmp_path, study, folder):
    publish(study, folder, tmp_path / "out")
    published = {key: Outcome(FINISHED, **content) for key, content in Snapshot(tmp_path / "out/toys").outcomes()}
    store = TrialStore(tmp_path / "store", snapshot_outcomes=published)
    row = frame_of(study).iloc[-1]
    found = store.read(row["key"])
    assert found.scores["test/fine/nmi"] == pytest.approx(row["test/fine/nmi"], rel=1e-6)
    assert found.counts == {"eta_drawn": [1.0, 2.0]}
    assert found.diagnostics == {"loss": 0.12346}
    assert store.read("f" * 64) is None
    store.write(row["key"], Outcome(FINISHED, scores={"mine": 1.0}))
    assert store.read(row["key"]).scores == {"mine": 1.0}


@pytest.mark.parametrize(
    ("change", "commit", "expected"),
    [
        (lambda f: f.assign(status=["failed", *f["status"][1:]]), "0" * 40, "1 trials failed"),
        (lambda f: f[:-1], "0" * 40, "1 of 8 cells lack seeds"),
        (lambda f: f, "abc-dirty", "not committed"),
        (lambda f: f, "", "no repository"),
        (
            lambda f: f.assign(settings=[json.dumps({"a": RNG.bytes(40_000).hex()}) for _ in f.index]),
            "0" * 40,
            "at most 1,000,000",
        ),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path, study, change, commit, expected):
    folder = written(tmp_path, change(frame_of(study)), commit)
    with pytest.raises(ValueError, match=expected):
        publish(study, folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_study_that_changed_since_it_ran_is_refused_and_a_new_title_is_not_a_change(tmp_path, study, folder):
    summary = json.loads((folder / "summary.json").read_text()) | {"study_digest": study.digest}
    (folder / "summary.json").write_text(json.dumps(summary))
    titled = study.model_copy(update={"title": "Another"})
    publish(titled, folder, tmp_path / "out")
    longer = study.model_copy(update={"training": replace(study.training, steps=7)})
    with pytest.raises(ValueError, match="has changed since it ran"):
        publish(longer, folder, tmp_path / "other")
    snapshot = Snapshot(tmp_path / "out/toys")
    assert "has changed since" in load(longer, tmp_path / "none", None, snapshot).origin
    assert "has changed since" not in load(titled, tmp_path / "none", None, snapshot).origin
