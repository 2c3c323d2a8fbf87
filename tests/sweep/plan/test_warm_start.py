"""`search.warm_start`: the first trials of a cell, in whatever order trials run, after kills and failures."""

import random

import optuna
import pytest
import toy

from dml.sweep.plan.plan import Plan
from dml.sweep.progress.results import trials_frame
from dml.sweep.store.trials import FAILED, FINISHED, Outcome, TrialStore

pytestmark = pytest.mark.slow

RATES = [0.0, 0.2, 0.6]
SEARCH = {"sampler": "tpe", "trials": 4, "warm_start": 1}


@pytest.fixture
def study(toy_study):
    def make(**changes):
        own = {"noise": [{"name": "uniform", "rates": RATES}], "search": SEARCH, **changes}
        return toy_study(**own)

    return make


def score(job):
    """The best margin differs from rate to rate."""
    margin = job.settings.get("loss.margin", 0.2)
    name = "validation" if job.phase == "tune" else "test"
    best = {0.0: 0.1, 0.2: 0.5, 0.6: 0.3}[job.cell.rate]
    return {f"{name}/fine/recall@1": 1 - (margin - best) ** 2}


def opened(study, store, storage=None):
    plan = Plan(study, store, toy.describe, storage or optuna.storages.InMemoryStorage())
    plan.start(lambda job, outcome, reused: None)
    return plan


def run(plan, choose=lambda running: 0, slots=1, limit=None, fails=lambda job: False):
    """Run trials on so many slots; `choose` says which of the running ones ends next. Returns those that ran."""
    running, ran = [], []
    while not plan.finished and len(ran) != limit:
        while len(running) < slots and (job := plan.take()) is not None:
            running.append(job)
        job = running.pop(choose(running))
        ok = not fails(job)
        outcome = Outcome(FINISHED, score(job), [[10, score(job)]], seconds=1.0) if ok else Outcome(FAILED, error="nan")
        plan.store.write(job.key, outcome)
        ran.append(job)
        plan.end(job.id, outcome)
    return ran


def table(study, plan):
    return trials_frame(study, plan)[["key", "cell", "phase", "number", "status", "settings", "objective"]]


def first_and_source(plan):
    """For each state that starts from others: its first settings, and the best of its source."""
    return [(s.tuned[0][0].settings, plan.best(s.sources[0])[0].settings) for s in plan.states if s.sources]


def test_the_first_trial_has_the_best_settings_of_the_source(study, tmp_path):
    plan = opened(study(), TrialStore(tmp_path))
    run(plan)
    pairs = first_and_source(plan)
    assert len(pairs) == 4, "two losses at two of three rates"
    assert all(first == best for first, best in pairs)


def test_with_two_sources_the_first_trials_have_the_best_settings_of_both(study, tmp_path):
    plan = opened(study(search={**SEARCH, "warm_start": 2}), TrialStore(tmp_path))
    run(plan, slots=3)
    checked = 0
    for state in plan.states:
        best = [plan.best(source)[0].settings for source in state.sources]
        best = [settings for place, settings in enumerate(best) if settings not in best[:place]]
        assert [state.tuned[n][0].settings for n in range(len(best))] == best
        checked += len(best) > 1
    assert checked == 2, "each loss at the third rate"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_budget_is_that_of_every_cell(study, tmp_path, count):
    plan = opened(study(search={**SEARCH, "warm_start": count}), TrialStore(tmp_path))
    total = plan.total
    run(plan)
    assert {len(state.tuned) for state in plan.states} == {4}
    assert total == plan.total == len(list(plan.ended())) == 6 * (4 + 2)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
@pytest.mark.parametrize("stop", ["last", "best"])
def test_order_and_workers_change_nothing(study, tmp_path, sampler, stop):
    own = study(search={**SEARCH, "sampler": sampler, "stop": stop, "trials": 6, "warm_start": 2})
    plan = opened(own, TrialStore(tmp_path / "one"))
    run(plan)
    for seed in range(4):
        draw = random.Random(seed)
        other = opened(own, TrialStore(tmp_path / str(seed)))
        run(other, lambda running, draw=draw: draw.randrange(len(running)), slots=1 + 3 * seed)
        assert table(own, other).equals(table(own, plan))


@pytest.mark.parametrize("cut", range(0, 36, 3))
def test_a_killed_sweep_ends_like_an_uninterrupted_one(study, tmp_path, cut):
    """With Optuna's storage and without it; no trial runs twice."""
    own = study()
    whole = opened(own, TrialStore(tmp_path / "whole"))
    ran = len(run(whole))
    for kept in (True, False):
        storage, store = optuna.storages.InMemoryStorage(), TrialStore(tmp_path / f"cut-{kept}")
        run(opened(own, store, storage), slots=2, limit=cut)
        plan = opened(own, store, storage if kept else None)
        assert len(run(plan, slots=3)) == ran - cut
        assert table(own, plan).equals(table(own, whole))


def test_every_source_is_of_the_same_class_split(study, tmp_path):
    plan = opened(study(class_splits=2), TrialStore(tmp_path))
    run(plan, slots=3)
    assert {(state.split, plan.states[s].split) for state in plan.states for s in state.sources} == {(0, 0), (1, 1)}
    assert all(first == best for first, best in first_and_source(plan))


def test_a_source_whose_trials_all_fail_gives_nothing(study, tmp_path):
    own = study(losses=["triplet"])
    plan = opened(own, TrialStore(tmp_path))
    run(plan, fails=lambda job: job.cell.rate == 0.2)
    assert plan.finished
    assert [len(state.tuned) for state in plan.states] == [4, 4, 4]
    assert [len(state.confirmed) for state in plan.states] == [2, 0, 2]


def test_another_study_of_sources_is_another_search(study, tmp_path):
    """A rate that is added before changes what a cell starts with, so its stored proposals do not count."""
    storage, store = optuna.storages.InMemoryStorage(), TrialStore(tmp_path)
    run(opened(study(noise=[{"name": "uniform", "rates": [0.0, 0.6]}]), store, storage))
    plan = opened(study(), store, storage)
    run(plan)
    assert all(first == best for first, best in first_and_source(plan))


def test_settings_outside_the_space_are_drawn(study, tmp_path):
    spaces = [{"margin": {"uniform": [0.1, 0.2]}, "beta": {"uniform": [0.5, 0.9]}}, {"margin": {"uniform": [0.4, 0.5]}}]
    own = study(losses=[{"name": "margin", "search": space} for space in spaces[:1]])
    plan = opened(own, TrialStore(tmp_path))
    proposals = plan.states[1].proposals
    proposals.start_with([{"loss.margin": 0.45, "loss.beta": 0.6}, {"loss.margin": 0.45}, {"loss.beta": 0.6}])
    first = proposals.ask(0)
    assert first["loss.beta"] == 0.6
    assert 0.1 <= first["loss.margin"] <= 0.2
    assert proposals.ask(1)["loss.beta"] != 0.6, "what is the same, or empty, comes once or not at all"
