"""The sweep as it runs: Ray Tune, Optuna and MLflow together, with trials that cost nothing."""

import json
from collections import Counter

import mlflow
import pandas as pd
import pytest
from driver import study

from dml.config.loading import ATTRIBUTE, recorded
from dml.sweep.progress.status import describe

pytestmark = pytest.mark.slow

IDENTITY = ["cell", "phase", "number"]


def children(folder):
    """Trials in MLflow, by identity."""
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("dml")
    found = client.search_runs([experiment.experiment_id], "tags.`dml.kind` = 'trial'", max_results=1000)
    return Counter(run.data.tags["dml.trial"] for run in found)


def test_a_sweep_from_nothing_then_again_then_with_more(workplace):
    tracking = f"sqlite:///{workplace.folder / 'mlflow.db'}"
    text = workplace.sweep(tracking=tracking, own_ray=True, resources={"concurrent": 2})
    frame = pd.read_parquet(workplace.folder / "out" / "trials.parquet")
    expected = [
        (cell.name, phase, number)
        for cell in study().cells()
        for phase, numbers in (("tune", 3), ("confirm", 2))
        for number in range(numbers)
    ]
    assert list(frame[IDENTITY].itertuples(index=False, name=None)) == expected
    assert set(frame["status"]) == {"finished"}
    assert recorded(frame.attrs[ATTRIBUTE], study()) == study(), "it says what ran"
    assert frame.loc[frame["phase"] == "confirm", "test/fine/recall@1"].notna().all()
    assert frame.loc[frame["phase"] == "tune", "validation/fine/recall@1"].notna().all()
    assert json.loads(frame["curve"][0])[0][0] == 5
    assert set(children(workplace.folder)) == {"|".join(map(str, row)) for row in expected}
    assert set(children(workplace.folder).values()) == {1}

    summary = json.loads((workplace.folder / "out" / "summary.json").read_text())
    assert {k: summary[k] for k in ("cells", "trials", "finished", "failed", "already_done")} == {
        "cells": 2,
        "trials": 10,
        "finished": 10,
        "failed": 0,
        "already_done": 0,
    }
    assert "2/2 cells" in text
    assert "10/10 trials" in describe(workplace.folder / "store")[0]
    assert len(text.splitlines()) < 20, "a flood of log lines"

    before = workplace.log()
    workplace.sweep(tracking=tracking)
    assert workplace.log() == before, "a finished trial ran again"
    pd.testing.assert_frame_equal(pd.read_parquet(workplace.folder / "out" / "trials.parquet"), frame)
    assert set(children(workplace.folder).values()) == {1}

    workplace.sweep(tracking=tracking, seeds=[0, 1, 2])
    begun = [line for line in workplace.log()[len(before) :] if "begin" in line]
    assert len(begun) == 2
    assert len(children(workplace.folder)) == 12
