"""What MLflow shows of a sweep, from its table of trials, against numbers computed here."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from driver import place
from scipy import stats
from simulated import simulate

from dml.config.loading import ATTRIBUTE, record
from dml.files import write_json
from dml.pipeline.sync import picture_of
from dml.report.loading import load
from dml.report.runs import picture
from dml.sweep.progress.results import LiveTable, live_folder, trials_frame
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
    folder = live_folder(tmp_path / "store", "toys")
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


def test_what_is_shown_of_a_projects_folders(toy_study, tmp_path):
    """The results with model, files, champions and audit; while a sweep runs, the table that it writes."""
    study, where = toy_study(), place(tmp_path)
    assert picture_of(where, study).runs == []
    plan = simulate(study, tmp_path, score)
    (tmp_path / "out").mkdir()
    trials_frame(study, plan).to_parquet(tmp_path / "out/trials.parquet")
    key = next(job.key for job, _ in plan.ended() if job.phase == "confirm")
    write_json(tmp_path / "out/summary.json", {"model": key, "seconds": 7.5, "git_commit": "abc"})
    write_json(tmp_path / "pack.json", {"digits": {"digest": "d1"}})
    champion = {
        "study": "toys",
        "key": "k1",
        "versions": {"git_commit": "abc"},
        "dataset": {"name": "digits", "resize": 8},
    }
    champion["recipe"] = {"rate": 0.2, "score": "test/fine/recall@1", "settings": {"loss.margin": 0.3}}
    champion["recipe"]["methods"] = [{"method": "triplet", "mean": 50.0, "low": None, "high": None}]
    for place_of, made in (("first", "k1"), ("second", "k2")):
        folder = tmp_path / "store/champions/mine" / place_of / "model"
        write_json(folder / "champion.json", {**champion, "key": made})
        write_json(folder / "model.json", {"image_shape": [8, 8, 1], "network": {"embedding_size": 4}})
    asked_last = tmp_path / "store/champions/mine/first/model/champion.json"
    os.utime(asked_last, (time.time() + 60,) * 2)
    counts = dict.fromkeys(("images", "classes", "suspects", "contradicting_duplicates", "looks"), 3)
    audit = {**counts, "rate": {"guess": 0.1, "warning": ""}, "review": None, "measured": None, "losses": {}}
    audit["settings"] = {"folds": 5}
    write_json(
        tmp_path / "audit/summary.json", {**audit, "digest": "d2", "dataset": "digits", "representation": "pixels"}
    )

    found = picture_of(where, study)
    first, *others = found.runs
    assert (first.kind, first.tags["dml.data.digits"], first.model.key) == ("study", "d1", key)
    assert set(first.files) == {"trials.parquet", "summary.json", "study.yaml", "report/toys.html"}
    assert (first.metrics["seconds"], first.tags["dml.git_commit"]) == (7.5, "abc")
    champions = {run.model.key: run for run in others if run.kind == "champion"}
    assert {key: run.model.alias for key, run in champions.items()} == {"k1": "champion", "k2": None}
    assert champions["k1"].parent == first
    assert champions["k1"].metrics == {"recipe/test/fine/recall@1.mean": 0.5}
    assert champions["k1"].params["dataset"] == {"name": "digits"}
    (shown_audit,) = [run for run in others if run.kind == "audit"]
    assert (shown_audit.parent, shown_audit.params["folds"], shown_audit.metrics["rate.guess"]) == (None, 5, 0.1)

    LiveTable(plan).write()
    for state, updated, status in (
        ("running", 0, "RUNNING"),
        ("running", 100, "KILLED"),
        ("failed", 100, "FAILED"),
        ("interrupted", 0, "KILLED"),
    ):
        write_json(tmp_path / "store/sweeps/toys.json", {"state": state, "updated": time.time() - updated})
        live = picture_of(where, study).runs[0]
        assert (live.status, live.files, live.model) == (status, {}, None)
    results = tmp_path / "out/trials.parquet"
    os.utime(results, (time.time() + 1, time.time() + 1))  # DVC's, of the study as it was before that sweep
    shown = picture_of(where, study).runs[0]
    assert (shown.status, shown.model.key) == ("FINISHED", key)
