"""`search.stop: best`: curves on validation classes say after how many steps confirmed trials end."""

import json

import pandas as pd
import pytest
from planned import finish, start

from dml.snapshots import publishing
from dml.sweep.plan import cells
from dml.sweep.progress.results import trials_frame
from dml.sweep.store.init_from import snapshot_outcomes
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

pytestmark = pytest.mark.slow

STEPS = 20
BEST = {"sampler": "tpe", "trials": 3, "stop": "best"}


@pytest.fixture
def study(toy_study):
    """A study of one cell, whose trials have 20 steps and are evaluated every 5."""

    def make(search=BEST, every=5, **overrides):
        evaluation = {"metrics": ["recall@1"], "every": every}
        overrides = {"losses": ["triplet"], "training": {"steps": STEPS}, **overrides}
        return toy_study(search=search, evaluation=evaluation, **overrides)

    return make


def scoring(value):
    """`(job) ->` what a trial gives whose score at each of its evaluations is `value(job, step)`."""

    def outcome_of(job):
        wanted, part = job.spec.evaluation, "validation" if job.phase == "tune" else "test"
        last = job.spec.training.total_steps
        steps = sorted({*range(wanted.every or last or 1, last, wanted.every or last or 1), last})
        steps = [0, *steps] if wanted.at_start and last else steps
        curve = [[step, {f"{part}/fine/recall@1": float(value(job, step))}] for step in steps]
        return Outcome(FINISHED, curve[-1][1], curve, seconds=1.0)

    return outcome_of


def rises_then_falls(peak):
    """A score that is best after `peak` steps; the second tuning trial's is higher than the others'."""
    return lambda job, step: 0.5 - abs(step - peak) / 100 + (0.1 if job.number == 1 else 0.0)


def confirmed(plan):
    return [job for state in plan.states for job, _ in state.confirmed.values()]


@pytest.mark.parametrize("peak", [0, 5, 15])
def test_confirmed_trials_end_where_the_best_tuning_trial_was_best(study, tmp_path, peak):
    plan, _ = start(study(), TrialStore(tmp_path))
    finish(plan, scoring(rises_then_falls(peak)))
    best, outcome = plan.states[0].best(plan.study)
    assert best.number == 1
    assert best.spec.training.stop_at is None, "tuning trials see all steps"
    assert cells.value(plan.study, best, outcome) == pytest.approx(0.6)
    for job in confirmed(plan):
        assert job.settings == {**best.settings, "training.stop_at": peak}
        assert (job.spec.training.steps, job.spec.training.stop_at) == (STEPS, peak)
        assert job.spec.evaluation.every == 5
        assert not job.spec.evaluation.at_start
    frame = trials_frame(plan.study, plan)
    assert frame["objective"][frame["phase"] == "tune"].tolist() == pytest.approx([0.5, 0.6, 0.5])
    assert {json.loads(text)["training.stop_at"] for text in frame["settings"][frame["phase"] == "confirm"]} == {peak}


def test_a_trial_that_is_best_on_the_way_wins_over_one_that_is_best_at_the_end(study, tmp_path):
    scores = {0: [0.1, 0.2, 0.3, 0.4, 0.5], 1: [0.1, 0.7, 0.3, 0.2, 0.1], 2: [0.1, 0.1, 0.1, 0.1, 0.1]}

    def score(job, step):
        return scores[job.number][step // 5]

    plans = [start(study({**BEST, "stop": stop}), TrialStore(tmp_path / stop))[0] for stop in ("best", "last")]
    for plan in plans:
        finish(plan, scoring(score))
    assert [plan.states[0].best(plan.study)[0].number for plan in plans] == [1, 0]
    assert [confirmed(plan)[0].spec.training.stop_at for plan in plans] == [5, None]


def test_a_snapshot_gives_back_what_the_choice_needs(study, tmp_path):
    plan, _ = start(study(), TrialStore(tmp_path / "ran"))
    finish(plan, scoring(lambda job, step: rises_then_falls(10)(job, step) / 3))
    frame = trials_frame(plan.study, plan)
    folder = tmp_path / "results/toys"
    folder.mkdir(parents=True)
    publishing.write_table(publishing.rounded_trials(plan.study, frame), folder / "trials.parquet")
    found = pd.read_parquet(folder / "trials.parquet")
    tuned = found["phase"] == "tune"
    assert found["objective"][tuned].tolist() == frame["objective"][tuned].tolist(), "to the last bit"
    again, _ = start(study(), TrialStore(tmp_path / "clone", snapshot_outcomes=snapshot_outcomes(tmp_path / "results")))
    assert again.finished
    assert [(j.key, j.settings) for j, _ in again.ended()] == [(j.key, j.settings) for j, _ in plan.ended()]


@pytest.mark.parametrize("left", [[], [20], [0, 5, 10, 15], [0, 10, 20]])
def test_a_published_trial_without_its_whole_curve_runs_again(study, tmp_path, left):
    plan, _ = start(study(), TrialStore(tmp_path / "ran"))
    ran = finish(plan, scoring(rises_then_falls(10)))
    cut = {}
    for job in ran:
        outcome = plan.store.read(job.key)
        curve = [point for point in outcome.curve if point[0] in left] if job.phase == "tune" else outcome.curve
        cut[job.key] = Outcome(FINISHED, outcome.scores, curve)
    again, _ = start(study(), TrialStore(tmp_path / "clone", snapshot_outcomes=cut))
    assert [job.phase for job in finish(again, scoring(rises_then_falls(10)))] == ["tune"] * 3
