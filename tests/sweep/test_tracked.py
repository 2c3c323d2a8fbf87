"""What MLflow shows of a sweep, from its table of trials, against numbers computed here."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulated import simulate

from dml.config.loading import ATTRIBUTE, record
from dml.report.loading import load
from dml.report.runs import picture
from dml.sweep.progress.results import LiveTable, trials_frame
from dml.sweep.store.trials import FINISHED

pytestmark = pytest.mark.slow

NOISE = [{"name": "uniform", "rates": [0.0, 0.2]}]


def score(job):
    """Seeds differ; noise costs a half; the best margin is 0.3."""
    margin = job.settings.get("loss.margin", 0.2)
    value = 0.8 - (margin - 0.3) ** 2 + (0.1 if job.cell.loss.name == "triplet" else 0.0)
    return (value - 0.01 * job.seed) * (0.5 if job.cell.rate else 1.0)


def shown(plan, tmp_path, state="finished"):
    """The picture of a plan's trials, and its runs by kind."""
    frame = trials_frame(plan.study, plan)
    (tmp_path / "out").mkdir(exist_ok=True)
    frame.to_parquet(tmp_path / "out" / "trials.parquet")
    found = picture(load(plan.study, tmp_path / "out"), state)
    places = {run.key: place for place, run in enumerate(found.runs)}
    assert all(run.parent is None or places[run.parent.key] < places[run.key] for run in found.runs)
    assert len(places) == len(found.runs)
    json.dumps([dict(run.metrics) for run in found.runs], allow_nan=False)
    return found, {kind: [run for run in found.runs if run.kind == kind] for kind in ("study", "cell", "trial")}


def test_a_cells_scores_over_seeds(toy_study, tmp_path):
    plan = simulate(toy_study(seeds=[0, 1, 2], noise=NOISE), tmp_path, score)
    _, runs = shown(plan, tmp_path)
    assert len(runs["cell"]) == 4
    for state, run in zip(plan.states, runs["cell"], strict=True):
        values = np.array([o.scores["test/fine/recall@1"] for _, o in state.confirmed.values()])
        half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / 3**0.5
        for name in ("objective", "test/fine/recall@1"):
            own = [run.metrics[f"{name}.{part}"] for part in ("mean", "std", "low", "high")]
            np.testing.assert_allclose(own[:2], [values.mean(), values.std(ddof=1)], atol=5.1e-5)
            assert own[2] <= max(0.0, own[0] - half) + 1e-4, "over seeds and searches"
            assert own[3] >= min(1.0, own[0] + half) - 1e-4
            assert all(value == round(value, 4) for value in own), "digits that say nothing fill the screen"
        assert run.metrics["test/fine/nmi+.mean"] == pytest.approx(values.mean() / 2, abs=5.1e-5)
        tuned = max(o.scores["validation/fine/recall@1"] for _, o in state.tuned.values())
        assert run.metrics["validation"] == pytest.approx(tuned, abs=5.1e-5)
        assert (run.metrics["seeds"], run.metrics["training_seconds"]) == (3, 12.0)
        best = state.best(plan.study)[0]
        assert run.params["loss.margin"] == best.settings["loss.margin"]
        assert (run.params["loss"], run.params["rate"]) == (state.cell.loss.name, state.cell.rate)
        assert run.status == "FINISHED"


def test_a_trial_has_its_curve_its_settings_and_its_place(toy_study, tmp_path):
    plan = simulate(toy_study(), tmp_path, score)
    _, runs = shown(plan, tmp_path)
    frame = trials_frame(plan.study, plan)
    assert [run.tags["dml.key"] for run in runs["trial"]] == list(frame["key"])
    first = runs["trial"][0]
    assert (first.name, first.parent) == ("triplet: trial 0", runs["cell"][0])
    assert first.tags["dml.trial"] == f"{frame['cell'][0]}|tune|0"
    assert first.curve == [(10, {"validation/fine/recall@1": frame["objective"][0]})]
    assert first.params["loss.margin"] == json.loads(frame["settings"][0])["loss.margin"]
    assert first.metrics["objective"] == frame["objective"][0]
    assert [run.name for run in runs["trial"] if run.tags["dml.phase"] == "confirm"][:2] == [
        "triplet: seed 0",
        "triplet: seed 1",
    ]


def test_the_study_has_the_scores_and_settings_of_the_cell_that_wins_in_validation(toy_study, tmp_path):
    def misleading(job):
        return score(job) if job.phase == "tune" else 1 - score(job)

    plan = simulate(toy_study(noise=NOISE), tmp_path, misleading)
    found, runs = shown(plan, tmp_path)
    (study,) = runs["study"]
    index = next(i for i, s in enumerate(plan.states) if s.cell.loss.name == "triplet" and not s.cell.rate)
    assert study.tags["dml.winner"] == plan.states[index].cell.name
    assert study.tags["winner.loss.margin"] == str(plan.states[index].best(plan.study)[0].settings["loss.margin"])
    assert study.metrics["objective.mean"] == runs["cell"][index].metrics["objective.mean"]
    assert (study.metrics["cells"], study.metrics["trials"]) == (4, 20)
    assert study.tags["mlflow.note.content"].endswith("4 cells, 20 trials, 0 failed")
    assert found.study == "toys"


def test_the_table_of_a_sweep_that_runs(toy_study, tmp_path, monkeypatch):
    plan = simulate(toy_study(), tmp_path, score, stop=3)
    folder = tmp_path / "store/sweeps/toys.live"
    live, job = LiveTable(plan), plan.take()
    live.evaluated(job, [[5, {"validation/fine/recall@1": 0.25}]], 4.0)

    def rows():
        return pd.read_parquet(folder / "trials.parquet")

    assert list(rows()["status"]) == [FINISHED] * 3 + ["running"]
    assert rows().attrs[ATTRIBUTE] == record(plan.study)
    running = [run for run in picture(load(plan.study, folder), "running").runs if run.status == "RUNNING"]
    assert {run.kind for run in running} == {"study", "cell", "trial"}
    (trial,) = [run for run in running if run.kind == "trial"]
    assert (trial.curve, trial.seconds) == ([(5, {"validation/fine/recall@1": 0.25})], 4.0)
    stopped = picture(load(plan.study, folder), "interrupted").runs
    assert {run.status for run in stopped} == {"FINISHED", "KILLED"}
    live.evaluated(job, [[5, {}], [10, {}]], 8.0)
    assert rows()["curve"].iloc[-1] == '[[5, {"validation/fine/recall@1": 0.25}]]', "it was written a moment ago"
    live.close(finished=False)
    assert list(rows()["status"]) == [FINISHED] * 3
    monkeypatch.setattr(pd.DataFrame, "to_parquet", lambda *given, **names: (_ for _ in ()).throw(OSError(28, "full")))
    live.write()
    live.close(finished=True)
    assert not Path(folder).exists()
