"""The best cells that a sweep shows: within a dataset and a noise level, those with labels as given first."""

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
