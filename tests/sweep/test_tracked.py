"""What MLflow is told of cells and of the study, against numbers computed here."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from simulated import simulate

from dml.sweep.callback import TrackingCallback
from dml.sweep.store import FAILED, Outcome
from dml.sweep.tracked import CellRecords, columns


class Recorder:
    """A tracker that remembers its records."""

    unsent = 0

    def __init__(self):
        self.trials, self.cells, self.studies, self.artifacts, self.models = [], [], [], [], []

    def trial(self, trial, key, record):
        self.trials.append(trial)

    def cell(self, cell, record):
        json.dumps(record, allow_nan=False)
        self.cells.append((cell, record))

    def study(self, record):
        json.dumps(record, allow_nan=False)
        self.studies.append(record)

    def artifact(self, path):
        self.artifacts.append(path)

    def model(self, folder, loader, key, shape, size, register):
        self.models.append((key, register))


NOISE = [{"model": "uniform", "rates": [0.0, 0.2]}]


def score(job):
    """Seeds differ; noise costs a half; the best margin is 0.3."""
    margin = job.settings.get("loss.margin", 0.2)
    value = 0.8 - (margin - 0.3) ** 2 + (0.1 if job.cell.loss.name == "triplet" else 0.0)
    return (value - 0.01 * job.seed) * (0.5 if job.cell.rate else 1.0)


SUMMARY = {"cells": 4, "trials": 20, "finished": 20, "failed": 0, "pruned": 0, "seconds": 3.0, "training_seconds": 40.0}


def test_a_cells_scores_over_seeds(toy_study, tmp_path):
    plan = simulate(toy_study(seeds=[0, 1, 2], noise=NOISE), tmp_path, score)
    records = CellRecords(plan)
    for index, state in enumerate(plan.cells):
        record = records.cell(index)
        values = np.array([o.scores["test/fine/recall@1"] for _, o in state.confirmed.values()])
        half = stats.t.ppf(0.975, 2) * values.std(ddof=1) / 3**0.5
        for name in ("objective", "test/fine/recall@1"):
            own = [record["metrics"][f"{name}.{part}"] for part in ("mean", "std", "low", "high")]
            wanted = [values.mean(), values.std(ddof=1), values.mean() - half, values.mean() + half]
            np.testing.assert_allclose(own, wanted)
        assert record["metrics"]["test/fine/nmi+.mean"] == pytest.approx(values.mean() / 2)
        assert record["metrics"]["validation"] == max(
            o.scores["validation/fine/recall@1"] for _, o in state.tuned.values()
        )
        assert (record["metrics"]["seeds"], record["metrics"]["training_seconds"]) == (3, 12.0)
        best = plan.best(index)[0]
        assert record["params"]["loss.margin"] == best.settings["loss.margin"]
        assert (record["params"]["loss"], record["params"]["rate"]) == (state.cell.loss.name, state.cell.rate)
        assert record["status"] == "FINISHED"


def test_the_share_kept_under_noise_is_of_the_same_cell_at_rate_0(toy_study, tmp_path):
    plan = simulate(toy_study(noise=NOISE, search={"sampler": "fixed"}), tmp_path, score)
    records = [CellRecords(plan).cell(index) for index in range(len(plan.cells))]
    for noisy in (record for record in records if record["params"]["rate"]):
        (clean,) = [r for r in records if r["params"]["loss"] == noisy["params"]["loss"] and not r["params"]["rate"]]
        share = noisy["metrics"]["objective.mean"] / clean["metrics"]["objective.mean"]
        assert noisy["metrics"]["share_kept"] == pytest.approx(share) == pytest.approx(0.5)
        assert "share_kept" not in clean["metrics"]


def test_the_clean_cell_of_another_noise_model_serves(toy_study, tmp_path):
    noise = [{"model": "small_cluster", "rates": [0.2]}, {"model": "uniform", "rates": [0.0, 0.2]}]
    plan = simulate(toy_study(noise=noise, search={"sampler": "fixed"}, seeds=[0]), tmp_path, score)
    shares = [CellRecords(plan).cell(index)["metrics"].get("share_kept") for index in range(len(plan.cells))]
    assert [share is None for share in shares] == [state.cell.rate == 0 for state in plan.cells]
    one = CellRecords(plan).cell(0)["metrics"]
    assert not {"objective.std", "objective.low"} & one.keys(), "one seed has no spread"


def test_each_cell_is_told_once_with_its_share_in_whatever_order_cells_end(toy_study, tmp_path):
    study = toy_study(noise=NOISE, search={"sampler": "fixed"})
    plan = simulate(study, tmp_path, score)
    jobs = [job for job, _ in plan.ended()]
    for order in itertools.islice(itertools.permutations(jobs), 0, 40320, 4000):
        fresh, tracker = simulate(study, tmp_path, stop=0), Recorder()
        callback = TrackingCallback(tracker)
        states = {}
        for job in order:
            cell = fresh.cells[job.index]
            states.setdefault(job.index, dict(cell.confirmed))
        for state in fresh.cells:
            state.confirmed.clear()
            state.done = False
        for job in order:
            fresh.cells[job.index].confirmed[job.number] = states[job.index][job.number]
            callback.trial(fresh, *states[job.index][job.number])
        assert Counter(name for name, _ in tracker.cells) == Counter(state.cell.name for state in fresh.cells)
        assert all("share_kept" in record["metrics"] for _, record in tracker.cells if record["params"]["rate"])
        callback.remaining(fresh)
        assert len(tracker.cells) == 4, "nothing remains"


def test_an_interrupted_study_and_a_cell_that_failed(toy_study, tmp_path):
    plan, tracker = simulate(toy_study(), tmp_path, score, stop=8), Recorder()
    TrackingCallback(tracker).remaining(plan)
    assert Counter(record["status"] for _, record in tracker.cells) == Counter({"FINISHED": 1, "KILLED": 1})

    for state in plan.cells:
        for found in (state.tuned, state.confirmed):
            for number, (job, _) in found.items():
                found[number] = job, Outcome(FAILED, error="the loss became NaN")
        state.done = True
    (_, record), _ = CellRecords(plan).remaining()
    assert (record["status"], record["metrics"]["failed"]) == (
        "FAILED",
        float(len(plan.cells[0].tuned) + len(plan.cells[0].confirmed)),
    )
    assert CellRecords(plan).study(SUMMARY)["metrics"]["cells"] == 4


def test_the_study_has_the_scores_and_settings_of_the_cell_that_wins_in_validation(toy_study, tmp_path):
    def misleading(job):
        return score(job) if job.phase == "tune" else 1 - score(job)

    plan, tracker = simulate(toy_study(noise=NOISE), tmp_path, misleading), Recorder()
    callback = TrackingCallback(tracker)
    callback.outcome(plan, SUMMARY, [tmp_path / "study.yaml"])
    callback.best_model(plan)
    (study,) = tracker.studies
    index = next(i for i, s in enumerate(plan.cells) if s.cell.loss.name == "triplet" and not s.cell.rate)
    winner = plan.cells[index]
    assert study["tags"]["dml.winner"] == winner.cell.name
    assert study["tags"]["winner.loss.margin"] == str(plan.best(index)[0].settings["loss.margin"])
    assert study["metrics"]["objective.mean"] == CellRecords(plan).cell(index)["metrics"]["objective.mean"]
    assert {name: study["metrics"][name] for name in SUMMARY} == SUMMARY
    assert study["tags"]["mlflow.note.content"].count("\n| digits, uniform") == 2, "a line per noise rate"
    assert tracker.artifacts == [tmp_path / "study.yaml"]
    (model, register) = tracker.models[0]
    assert model in {job.key for job, _ in winner.confirmed.values()}
    assert register is None


def test_columns_are_what_differs(toy_study, tmp_path):
    plan = simulate(toy_study(noise=NOISE, vary={"training.batch.per_class": [2, 4]}), tmp_path, score)
    found = columns(plan)
    assert found["params"] == ["rate", "loss", "training.batch.per_class"]
    wanted = [
        "objective.mean",
        "share_kept",
        "objective.low",
        "objective.high",
        "validation",
        "test/fine/recall@1.mean",
    ]
    assert found["metrics"] == wanted
    one = columns(simulate(toy_study(losses=["triplet"], search={"sampler": "fixed"}), tmp_path / "one", score))
    assert one["params"] == ["loss", "rate"], "parallel coordinates need some"
    assert not {"share_kept", "validation"} & set(one["metrics"])
