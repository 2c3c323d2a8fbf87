"""`seeds: auto`: which cells get more seeds, whatever order trials run in, and after an interruption."""

import numpy as np
import optuna
import pytest
import toy

from dml import sequential
from dml.config import study_from
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore

LOSSES = ["triplet", "contrastive", "histogram", "lifted_structure"]
EFFECTS = {"triplet": 0.0, "contrastive": 0.3, "histogram": 0.0, "lifted_structure": 0.012}
KEY = "test/fine/recall@1"


def scored(job):
    noise = 0.02 * np.random.default_rng([job.seed, LOSSES.index(job.cell.loss.name)]).standard_normal()
    return {KEY: 0.5 + EFFECTS[job.cell.loss.name] + noise}


def start(study, folder):
    plan = Plan(study, TrialStore(folder), toy.describe, optuna.storages.InMemoryStorage())
    plan.start(lambda job, outcome, reused: None)
    return plan


def finish(plan, last=False, limit=None):
    """Run what is ready, the first or the last of it first."""
    ran = 0
    while not plan.finished and ran != limit:
        jobs = []
        while (job := plan.take()) is not None:
            jobs.append(job)
        for job in jobs[::-1] if last else jobs:
            if ran == limit:
                return
            outcome = Outcome(FINISHED, scored(job), [[10, scored(job)]], seconds=1.0)
            plan.store.write(job.key, outcome)
            plan.end(job.id, outcome)
            ran += 1


def seeds(plan):
    return {state.cell.loss.name: sorted(state.confirmed) for state in plan.states}


@pytest.fixture
def study(toy_study):
    return toy_study(losses=LOSSES, search={"sampler": "fixed"}, seeds="auto")


def test_a_decided_comparison_gets_no_more_seeds_and_an_open_one_all(study, tmp_path):
    assert study.auto_seeds.looks == (3, 5, 8, 13, 20)
    plan = start(study, tmp_path)
    assert plan.total == 4 * 3
    assert plan.looking == "look 1 of 5, at 3 seeds"
    finish(plan, limit=12)
    assert plan.looking == "look 2 of 5, at 5 seeds"
    finish(plan)
    assert plan.looking.startswith(f"look {plan.look} of 5")
    found = {name: len(numbers) for name, numbers in seeds(plan).items()}
    assert found["contrastive"] == 3 or found["contrastive"] == 5
    assert found["triplet"] == max(found.values()), "the usual choice is in every comparison"
    assert set(found.values()) <= {3, 5, 8, 13, 20}
    assert max(found.values()) > found["contrastive"]
    assert plan.total == sum(found.values())


def test_neither_the_order_of_trials_nor_an_interruption_changes_what_is_added(study, tmp_path):
    first = start(study, tmp_path / "a")
    finish(first)
    other = start(study, tmp_path / "b")
    finish(other, last=True)
    assert seeds(other) == seeds(first)
    for limit in (5, 12, 14):
        finish(start(study, tmp_path / f"c{limit}"), limit=limit)
        again = start(study, tmp_path / f"c{limit}")
        finish(again)
        assert seeds(again) == seeds(first)
        assert again.look == first.look


def test_a_study_names_its_comparisons(toy_study, tmp_path):
    own = {"first": {"loss": "contrastive"}, "second": {"loss": "triplet"}}
    plan = start(
        toy_study(losses=LOSSES, search={"sampler": "fixed"}, seeds={"auto": {"most": 8}}, compare=[own]), tmp_path
    )
    finish(plan)
    found = {name: len(numbers) for name, numbers in seeds(plan).items()}
    assert found["histogram"] == found["lifted_structure"] == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"auto": {"least": 5, "most": 5}}, r"expected more than `least` \(5\), got 5"),
        ({"automatic": {}}, r"expected a list, auto, or \{auto"),
    ],
)
def test_what_is_refused(toy_study, given, message):
    with pytest.raises(ValueError, match=message):
        toy_study(seeds=given)


def test_class_splits_need_listed_seeds():
    content = {"title": "Toys", "losses": ["contrastive"], "datasets": [{"name": "digits"}]}
    with pytest.raises(ValueError, match="class splits are compared over splits"):
        study_from({**content, "seeds": "auto", "class_splits": 2})


def test_p_and_interval_are_those_of_planned_looks():
    planned = sequential.looks(3, 20)
    x = np.random.default_rng(0).normal(0.7, 1, 20)
    for n in (3, 8, 20):
        own, level = sequential.estimate(x[:n], planned), sequential.levels(planned)[planned.index(n)]
        assert own.low <= x[:n].mean() <= own.high
        assert level < 0.05
    assert sequential.estimate(x[:9], planned) == sequential.estimate(x[:8], planned), "only looks count"
    assert np.isnan(sequential.estimate(x[:2], planned).p)
    assert sequential.estimate(np.ones(3), planned).p > 0.05, "equal differences: the sign test's p"
