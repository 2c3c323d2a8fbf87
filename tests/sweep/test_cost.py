"""What a study costs: the trials are counted as the plan counts them, and the time is that of earlier trials."""

import json
import time
from dataclasses import replace

import pytest
import torch
import toy

from dml.config import Study
from dml.sweep import cost as costs
from dml.sweep.cost import Estimate, estimate
from dml.sweep.plan import keys
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

STUDY = {
    "title": "x",
    "datasets": [{"name": "digits", "train_on": "coarse"}],
    "losses": ["triplet", "margin"],
    "positives": ["random"],
    "negatives": ["random"],
    "seeds": [0, 1, 2],
    "search": {"trials": 5},
    "training": {"backbone": "mlp", "steps": 100, "batch": {"classes": 2, "per_class": 4}},
    "name": "study",
}
STEP = 0.02  # seconds


@pytest.mark.parametrize(("seconds", "text"), [(88, "88 s"), (700, "12 min"), (32_620, "9.1 h"), (61_300, "17 h")])
def test_a_time_has_two_digits(seconds, text):
    assert costs.duration_text(seconds) == text


def test_seconds_that_other_processes_take_do_not_count(monkeypatch):
    monkeypatch.setattr(costs, "ENOUGH", 3)
    with costs.on_threads(1):
        assert costs._typical_seconds(lambda: time.sleep(0.05), 1.0, torch.device("cpu")) < 0.02
    with costs.on_threads(2):  # whose seconds would add up
        assert costs._typical_seconds(lambda: time.sleep(0.05), 0.1, torch.device("cpu")) >= 0.05


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    """The trials whose steps were timed: a step takes `STEP` seconds, embedding an image 0.001."""
    asked = []

    def time_steps(spec, manifest, seconds, threads):
        asked.append((spec, manifest))
        return STEP, 0.001

    monkeypatch.setattr(costs, "time_steps", time_steps)
    monkeypatch.setattr(costs.cluster, "cpus", lambda: 2)
    return asked


def cost(tmp_path, **changes) -> Estimate:
    study = Study(**{**STUDY, **changes})
    return estimate(study, tmp_path / "data/study", tmp_path / "store", tmp_path / "results")


@pytest.mark.parametrize(
    "search", [{"trials": 5}, {"sampler": "grid", "trials": 7}, {"sampler": "fixed"}, {"trials": 9}]
)
def test_trials_are_counted_as_the_plan_counts_them(tmp_path, search):
    changes = {"search": search, "training": {**STUDY["training"], "search": {"steps": {"choice": [1, 2]}}}}
    plan = Plan(Study(**{**STUDY, **changes}), TrialStore(tmp_path), toy.describe)
    found = cost(tmp_path, **changes)
    assert found.trials == plan.total
    assert (found.cells, found.confirming) == (2, 6)


def test_seconds_are_those_of_the_steps_the_evaluation_and_the_sweep_itself(tmp_path, timed):
    pack(tmp_path)
    found = cost(tmp_path)
    evaluated = 1000 * costs.TESTED
    assert found.trial_seconds == pytest.approx(100 * STEP + evaluated * 0.001 + costs.OVERHEAD)
    assert found.seconds == pytest.approx(found.trial_seconds * 16 / 2)
    assert "random images" in found.basis
    steps = len(timed)
    assert cost(tmp_path) == found
    assert len(timed) == steps  # what was timed is remembered
    cost(tmp_path, training={**STUDY["training"], "steps": 50})
    assert len(timed) > steps


def store_trial(tmp_path, packed="p", seconds=50.0, stop_at=None, **training):
    """A finished trial of 100 steps, or of fewer."""
    study = Study(**{**STUDY, "training": {**STUDY["training"], **training}})
    cell = study.cells()[0]
    spec = costs.spec_of(study, cell, {"digest": packed})
    spec = replace(spec, training=replace(spec.training, stop_at=stop_at))
    trials, key = TrialStore(tmp_path / "store"), keys.key(spec)
    trials.begin(key, json.dumps(keys.record(spec)))
    trials.write(key, Outcome(FINISHED, seconds=seconds))


def pack(tmp_path):
    root = tmp_path / "data/study"
    root.mkdir(parents=True)
    manifest = {"digest": "p", "height": 8, "width": 8, "channels": 1, "images": 1000, "decode": "eager"}
    (root / "pack.json").write_text(json.dumps({"digits": manifest}))


def test_similar_trials_of_the_store_are_taken_and_nothing_is_timed(tmp_path, timed):
    pack(tmp_path)
    store_trial(tmp_path, seconds=50.0)
    store_trial(tmp_path, seconds=70.0, learning_rate=0.5)  # as fast as with another learning rate
    store_trial(tmp_path, seconds=9e9, packed="other")
    store_trial(tmp_path, seconds=9e9, batch={"classes": 2, "per_class": 64})
    found = cost(tmp_path)
    assert found.trial_seconds == pytest.approx(60.0 + costs.OVERHEAD)
    assert timed == []
    assert "2 similar trials" in found.basis
