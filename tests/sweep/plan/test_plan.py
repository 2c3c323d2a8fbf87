import itertools

import pytest
from planned import finish, score, start

from dml.sweep.store.trials import FAILED, FINISHED, Outcome, TrialStore

pytestmark = pytest.mark.slow


def identity(job):
    return job.cell.name, job.phase, job.number


def test_every_cell_has_its_budget_then_its_seeds(toy_study, tmp_path):
    plan, ended = start(toy_study(), TrialStore(tmp_path))
    assert plan.total == 2 * (3 + 2)
    finish(plan)
    expected = itertools.product(
        [cell.name for cell in toy_study().cells()],
        [("tune", 0), ("tune", 1), ("tune", 2), ("confirm", 0), ("confirm", 1)],
    )
    assert [identity(job) for job, _ in plan.ended()] == [(cell, *rest) for cell, rest in expected]
    assert sorted(identity(job) for job, _, _ in ended) == sorted(identity(job) for job, _ in plan.ended())


def test_the_best_settings_on_validation_classes_are_confirmed(toy_study, tmp_path):
    plan, _ = start(toy_study(), TrialStore(tmp_path))
    finish(plan)
    for state in plan.states:
        best = max(state.tuned.values(), key=lambda pair: pair[1].scores["validation/fine/recall@1"])
        assert all(job.settings == best[0].settings for job, _ in state.confirmed.values())
        assert [job.seed for job, _ in state.confirmed.values()] == [0, 1]


def test_without_refitting_the_confirmed_trials_take_the_images_of_tuning(toy_study, tmp_path):
    store = TrialStore(tmp_path)
    refit, _ = start(toy_study(), store)
    finish(refit)
    plan, _ = start(toy_study(search={"sampler": "tpe", "trials": 3, "protocol": "train_val_test"}), store)
    ran = finish(plan)
    assert [(job.phase, job.seed) for job in ran] == [("confirm", 0), ("confirm", 1)] * 2
    assert {job.spec.dataset.labels for job in ran} == {"uniform-0.0-0-tune", "uniform-0.0-1-tune"}
    assert {job.settings["loss.margin"] for job in ran} <= {job.settings["loss.margin"] for job, _ in refit.ended()}


def test_a_finished_trial_is_never_run_again(toy_study, tmp_path):
    plan, _ = start(toy_study(), TrialStore(tmp_path))
    ran = finish(plan)
    again, ended = start(toy_study(), TrialStore(tmp_path))
    assert again.finished
    assert all(reused for _, _, reused in ended)
    assert {j.key for j, _ in again.ended()} == {j.key for j in ran}
    assert [(j.key, o) for j, o in again.ended()] == [(j.key, o) for j, o in plan.ended()]


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"losses": ["triplet", "contrastive", "multi_similarity"]}, 5),
        ({"noise": [{"name": "uniform", "rates": [0.0, 0.3]}]}, 10),
        ({"seeds": [0, 1, 2]}, 2),
        ({"name": "another", "title": "Another"}, 0),
        ({"resources": {"concurrent": 1}}, 0),
    ],
)
def test_only_what_is_new_runs(toy_study, tmp_path, change, new):
    finish(start(toy_study(), TrialStore(tmp_path))[0])
    plan, _ = start(toy_study(**change), TrialStore(tmp_path))
    assert len(finish(plan)) == new


@pytest.mark.parametrize("cut", [0, 2, 3, 7, 10])
def test_an_interrupted_sweep_ends_like_an_uninterrupted_one(toy_study, tmp_path, cut):
    whole, _ = start(toy_study(), TrialStore(tmp_path / "whole"))
    finish(whole)
    finish(start(toy_study(), TrialStore(tmp_path / "cut"))[0], limit=cut)
    plan, _ = start(toy_study(), TrialStore(tmp_path / "cut"))
    assert len(finish(plan)) == 10 - cut
    assert [(j.key, j.settings) for j, _ in plan.ended()] == [(j.key, j.settings) for j, _ in whole.ended()]


def test_trials_with_one_key_run_once(toy_study, tmp_path):
    study = toy_study(losses=[{"name": "triplet", "search": {"margin": {"choice": [0.1, 0.3]}}}], search={"trials": 8})
    plan, _ = start(study, TrialStore(tmp_path))
    ran = finish(plan)
    assert len({job.key for job in ran}) == len(ran) <= 2 + 2
    assert len(list(plan.ended())) == 8 + 2


def test_a_cell_whose_trials_all_fail_is_not_confirmed(toy_study, tmp_path):
    plan, _ = start(toy_study(), TrialStore(tmp_path))
    while not plan.finished:
        job = plan.take()
        failed = job.cell.loss.name == "triplet"
        plan.end(job.id, Outcome(FAILED, error="nan") if failed else Outcome(FINISHED, score(job)))
    assert {(job.cell.loss.name, job.phase) for job, _ in plan.ended()} == {
        ("triplet", "tune"),
        ("contrastive", "tune"),
        ("contrastive", "confirm"),
    }


def test_a_failure_that_may_not_come_again_is_tried_again(toy_study, tmp_path):
    store = TrialStore(tmp_path)
    plan, _ = start(toy_study(), store)
    unlucky, doomed = plan.take(), plan.take()
    plan.end(unlucky.id, Outcome(FAILED, error="a full disk", lasting=False))
    lasting = Outcome(FAILED, error="nan")
    store.write(doomed.key, lasting)
    plan.end(doomed.id, lasting)
    finish(plan)
    again, _ = start(toy_study(), store)
    assert identity(finish(again)[0]) == identity(unlucky)
    rows = {identity(job): outcome.status for job, outcome in again.ended()}
    assert [i for i, status in rows.items() if status == FAILED] == [identity(doomed)]


@pytest.mark.parametrize("scores", [{}, {"validation/fine/recall@1": float("nan")}])
def test_a_trial_without_its_objective_failed(toy_study, tmp_path, scores):
    plan, ended = start(toy_study(), TrialStore(tmp_path))
    plan.end(plan.take().id, Outcome(FINISHED, scores))
    assert ended[0][1].status == FAILED
    assert "validation/fine/recall@1" in ended[0][1].error
