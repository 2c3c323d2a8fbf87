"""Successive halving in real processes: workers and the driver are killed, and promoted trials lose no bit."""

import json
import os
import signal

import driver
import pandas as pd
import pytest
import torch
from checking import check
from real import prepare, training_worker

from dml.sweep.execution.trial import TrialWorker
from dml.sweep.plan import spec_json, specs
from dml.sweep.store.trials import FINISHED, PAUSED, TrialStore
from dml.training import data as trial_data
from dml.training.loop import Training

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOYS = {
    "search": {"sampler": "tpe", "trials": 6, "early_stopping": "halving"},
    "training": {"steps": 18},
    "evaluation": {"metrics": ["recall@1"], "every": 1},
}


def begun(workplace):
    """The toys that began at their first step, by their keys' first digits."""
    return [line.split()[1] for line in workplace.log() if line.endswith("begin")]


def test_an_uninterrupted_sweep_trains_each_step_once(workplace):
    workplace.sweep(resources={"concurrent": 2}, **TOYS)
    frame = check(workplace, **TOYS)
    assert len(begun(workplace)) == len(set(begun(workplace))), "no promoted trial began again"
    resumed = [line.split()[-1] for line in workplace.log() if " resume " in line]
    assert sorted(resumed) == ["3", "3", "3", "3", "6", "6"], (
        "of each cell two from the first rung, one from the second"
    )
    tuned = frame[frame["phase"] == "tune"]
    assert dict(tuned["status"].value_counts()) == {"pruned": 10, "finished": 2}
    left = {path.parents[1].name for path in workplace.folder.glob("store/trials/*/checkpoint/*")}
    assert not left, "stopped trials keep no checkpoint"
    before = workplace.log()
    workplace.sweep(**TOYS)
    assert workplace.log() == before, "nothing runs again"


def test_a_killed_worker_and_a_killed_driver_change_nothing(workplace):
    workplace.orders(seconds=0.1, checkpoint_each_step=True)
    process = workplace.start(own_ray=True, **TOYS)
    os.kill(workplace.wait(lambda: training_worker(workplace)), signal.SIGKILL)
    for rung in (3, 6):

        def paused(rung=rung):
            return [
                path
                for path in workplace.folder.glob("store/trials/*/paused.json")
                if any(step == rung for step, _ in json.loads(path.read_text())["curve"])
            ]

        workplace.wait(paused, seconds=120)
        process.kill()
        process.wait()
        process = workplace.start(own_ray=True, **TOYS)
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    check(workplace, **TOYS)


@pytest.fixture
def real(tmp_path):
    """A study of digits, its folder, and a function that gives the spec of a tuning trial."""
    prepare(tmp_path, ("tune", "confirm"))
    overrides = {
        "losses": [{"name": "softmax", "search": {}}],
        "positives": [],
        "negatives": [],
        "seeds": [0],
        "datasets": [{"name": "digits", "train_on": "coarse", "evaluate_on": ["fine"]}],
        "search": {"sampler": "grid", "trials": 4, "early_stopping": "halving", "objective": "map@r"},
        "training": {
            "backbone": {"settings": {"width": 4}},
            "embedding_size": 8,
            "steps": 45,
            "schedule": "cosine",
            "ema": 0.9,
            "batch": {"classes": 2, "per_class": 16},
            "search": {"learning_rate": {"log_uniform": [0.0001, 0.1]}},
        },
        "evaluation": {"metrics": ["recall@1", "map@r"], "every": 5, "sets": ["test"]},
    }
    study = driver.study(**overrides)
    (cell,) = study.cells()

    def spec(settings):
        digests = trial_data.describe(tmp_path, "digits", "uniform", 0.0, 0, "tune")
        return specs.build(study, cell, "tune", 0, settings, digests)

    torch.set_num_threads(1)
    return overrides, tmp_path, spec


def uninterrupted(spec, root, folder):
    """The trial's curve in this process, without a pause."""
    training = Training(spec, root, folder)
    while not training.finished:
        training.advance()
    training.close()
    return [[point.step, dict(point.scores)] for point in training.result().curve]


def test_a_promoted_trial_is_the_uninterrupted_one_bit_for_bit(workplace, real):
    overrides, root, spec = real
    text = workplace.sweep(real=True, **overrides)
    frame = pd.read_parquet(root / "out/trials.parquet")
    tuned = frame[frame["phase"] == "tune"]
    assert sorted(tuned["status"]) == ["finished", *["pruned"] * 3], text
    for row in tuned.to_dict("records"):
        curve = json.loads(row["curve"])
        assert curve[-1][0] == (45 if row["status"] == "finished" else 15)
        whole = uninterrupted(spec(json.loads(row["settings"])), root, root / "bare" / row["key"])
        assert curve == whole[: len(curve)]


def worker_of(root, spec, until):
    return TrialWorker(
        {
            "store": str(root / "store"),
            "storage": None,
            "device": "cpu",
            "path": [],
            "data_root": str(root),
            "trainer": "dml.sweep.execution.training.training",
            "workers": 1,
            "key": "key",
            "until": until,
            "spec": spec_json.dump(spec),
            "record": "{}",
        }
    )


@pytest.mark.parametrize("kill", ["between evaluations", "before it is noted", "never"])
def test_a_worker_pauses_and_another_one_goes_on(real, monkeypatch, kill):
    _, root, spec = real
    own, store = spec({"training.learning_rate": 0.01}), TrialStore(root / "store")
    whole = uninterrupted(own, root, root / "bare")

    def segment(until):
        worker, points = worker_of(root, own, until), []
        while not (found := worker.step())["done"]:
            points.append(json.loads(found["point"])[0])
        worker.cleanup()
        return json.loads(found["outcome"]), points

    if kill == "between evaluations":
        worker = worker_of(root, own, 15)
        worker.step()
        worker.cleanup()  # and nothing else is written
    if kill == "before it is noted":
        monkeypatch.setattr(TrialStore, "write", lambda *arguments: None)
        segment(15)
        monkeypatch.undo()
    outcome, _ = segment(15)
    reached = 20 if kill == "before it is noted" else 15
    assert (outcome["status"], outcome["curve"]) == (PAUSED, whole[: reached // 5])
    assert store.reached("key", 15).curve == outcome["curve"]
    assert store.read("key") is None
    again, points = segment(15)
    assert (again, points) == (outcome, []), "what a trial has reached is not trained again"
    last, points = segment(None)
    assert last["status"] == FINISHED
    assert last["curve"] == whole
    assert points == list(range(reached + 5, 45, 5))
    assert not (store.folder("key") / "paused.json").exists()
    assert store.reached("key", 15).curve == whole
