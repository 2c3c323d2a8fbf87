"""Large studies: their snapshots are thinned, and still give back what figures and later sweeps need."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dml.config import Study, load_study
from dml.snapshots import LARGEST, publishing

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def frame_of(study: Study) -> pd.DataFrame:
    """Invented trials of every cell, with as many digits and as much logged as real ones."""
    rng, rows = np.random.default_rng(0), []
    for place, cell in enumerate(study.cells()):
        phases = (("tune", range(study.search.trials)), ("confirm", range(len(study.seeds))))
        chosen = {f"loss.{name}": float(rng.random()) for name in cell.loss.search}
        for phase, numbers in phases:
            part = "validation" if phase == "tune" else "test"
            for number in numbers:
                score = float(rng.random())
                scores = {f"{part}/fine/{m}": score / (i + 1) for i, m in enumerate(study.evaluation.metrics)}
                settings = chosen if phase == "confirm" else {name: float(rng.random()) for name in chosen}
                logged = {"loss": float(rng.random()), "active_share": 0.5} | {
                    "eta_drawn": rng.integers(0, 999, 300).tolist()
                }
                row = {"key": f"{place:05d}{number}{phase[0]}".ljust(64, "f"), "cell": cell.name, "phase": phase}
                row |= {"number": number, "seed": number, "status": "finished", "settings": json.dumps(settings)}
                row |= {"objective": scores[study.objective(cell.dataset, part)], "curve": json.dumps([[60, scores]])}
                row |= {"seconds": 0.5123, "started": "2026-01-01T00:00:00+00:00", "diagnostics": json.dumps(logged)}
                rows.append(row | scores)
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def joint():
    """The study with the most cells, and invented trials."""
    study = load_study(ROOT / "tests/studies/joint-digits.yaml")
    return study, frame_of(study)


def test_a_study_of_a_thousand_cells_fits(joint, tmp_path):
    study, frame = joint
    assert len(study.cells()) > 1000
    sizes = []
    for thin in (True, False):
        publishing.write_table(publishing.rounded_trials(study, frame, thin), tmp_path / "trials.parquet")
        sizes.append((tmp_path / "trials.parquet").stat().st_size)
    assert sizes[0] < 0.85 * LARGEST < LARGEST < sizes[1]


def test_scores_come_back_and_the_search_to_the_last_bit(joint):
    study, frame = joint
    found = publishing.rounded_trials(study, frame, thin=True)
    assert found["cell"].tolist() == frame["cell"].tolist()
    tuned = (frame["phase"] == "tune").to_numpy()
    assert found["objective"][tuned].tolist() == frame["objective"][tuned].tolist()
    for metric in study.evaluation.metrics:
        mine, theirs = (each[f"test/fine/{metric}"][~tuned] for each in (found, frame))
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    for text, whole in zip(found["settings"], frame["settings"], strict=True):
        assert json.loads(text) == pytest.approx(json.loads(whole), rel=1e-3)
    assert set(found["diagnostics"]) == {"{}"}
