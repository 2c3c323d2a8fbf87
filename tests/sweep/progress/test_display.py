"""The best cells that a sweep shows: within a dataset and a noise level, those with labels as given first."""

import time
from dataclasses import replace

import pytest
from simulated import simulate

from dml.sweep.progress.display import SweepProgress

pytestmark = pytest.mark.slow


def score(job):
    """Noise makes it higher, and so does the second class split."""
    return 0.3 + job.cell.rate + 0.05 * (job.cell.loss.name == "contrastive") + 0.2 * job.split


def test_trials_that_are_left_take_as_long_as_those_of_their_phase(toy_study, tmp_path):
    plan, progress = simulate(toy_study(), tmp_path, score), SweepProgress("toys", tmp_path / "status.json")
    progress.watch(plan)
    ended = sorted(plan.ended(), key=lambda found: found[0].phase != "tune")
    tuned = sum(job.phase == "tune" for job, _ in ended)
    for job, outcome in ended[: tuned + 1]:
        progress.ended(job, replace(outcome, seconds=100.0 if job.phase == "tune" else 10.0), reused=False)
    progress.close("running")
    assert 0 < tuned < len(ended) - 1
    assert progress.snapshot()["left"] == pytest.approx(10 * (len(ended) - tuned - 1))


def test_trials_of_a_slow_loss_that_are_left_take_as_long_as_its_own(toy_study, tmp_path):
    study = toy_study(losses=["triplet", "contrastive"], positives=["random"], negatives=["random"])
    plan, progress = simulate(study, tmp_path, score), SweepProgress("toys", tmp_path / "status.json")
    progress.watch(plan)
    slow = {"tune": 200.0, "confirm": 100.0}
    left = 0.0
    for job, outcome in sorted(plan.ended(), key=lambda found: found[0].phase != "tune"):
        seconds = slow[job.phase] / (20 if job.cell.loss.name == "contrastive" else 1)
        if job.phase == "tune" or job.cell.loss.name == "contrastive":
            progress.ended(job, replace(outcome, seconds=seconds), reused=False)
        else:
            left += seconds
    assert progress.snapshot()["left"] == pytest.approx(left)
    first = next(job for job, _ in plan.ended() if job.cell.loss.name == "triplet" and job.phase == "confirm")
    plan.running[first.id] = first
    progress._begun[first.id] = time.monotonic() - 60
    assert progress.snapshot()["left"] == pytest.approx(left - 60, abs=1)
    progress.close("running")


def test_trials_that_train_nothing_do_not_shorten_those_that_do(toy_study, tmp_path):
    study = toy_study(losses=["triplet", "whitening"], positives=["random"], negatives=["random"])
    plan, progress = simulate(study, tmp_path, score), SweepProgress("toys", tmp_path / "status.json")
    progress.watch(plan)
    ended = list(plan.ended())
    free = [one for one in ended if one[0].cell.loss.name == "whitening"]
    tuned = [one for one in ended if one[0].phase == "tune"]
    for seconds, jobs in ((0.1, free), (100.0, tuned)):
        for job, outcome in jobs:
            progress.ended(job, replace(outcome, seconds=seconds), reused=False)
    progress.close("running")
    assert free
    assert progress.snapshot()["left"] == pytest.approx(100 * (len(ended) - len(free) - len(tuned)))
