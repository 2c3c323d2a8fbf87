"""The best cells that a sweep shows: within a dataset and a noise level, those with labels as given first."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from simulated import simulate

from dml.sweep.progress.display import SweepProgress
from dml.sweep.progress.status import line, table

pytestmark = pytest.mark.slow


def score(job):
    """Noise makes it higher, and so does the second class split."""
    return 0.3 + job.cell.rate + 0.05 * (job.cell.loss.name == "contrastive") + 0.2 * job.split


def shown(study, tmp_path):
    plan, progress = simulate(study, tmp_path, score), SweepProgress("toys", tmp_path / "status.json")
    progress.watch(plan)
    for job, outcome in plan.ended():
        progress.ended(job, outcome, reused=False)
    progress.close("running")
    return progress.snapshot()


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


def text_of(shown):
    console = Console(file=io.StringIO(), width=200)
    console.print(shown)
    return console.file.getvalue()


@pytest.mark.parametrize(("rates", "first"), [([0.4, 0.0], "uniform-0"), ([0.4, 0.2], "uniform-0.4")])
def test_levels_are_not_mixed(toy_study, tmp_path, rates, first):
    now = shown(toy_study(noise=[{"name": "uniform", "rates": rates}]), tmp_path)
    levels = [name.split("|")[1] for name in now["best"]]
    assert levels == [first] * 2 + [f"uniform-{rate:g}" for rate in rates if f"uniform-{rate:g}" != first] * 2
    assert [name.split("|")[2] for name in now["best"]] == ["contrastive", "triplet"] * 2
    assert f"best {next(iter(now['best'].values())):.3f} (digits|{first}|contrastive" in line(now)
    rows = text_of(table(now)).splitlines()
    places = [next(place for place, row in enumerate(rows) if name in row) for name in now["best"]]
    assert places == sorted(places)
    assert places[2] - places[1] == 2, "a line between the levels"
