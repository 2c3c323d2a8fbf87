"""What becomes of a trial whose reused worker died before it began, and which trial a free worker takes."""

from types import SimpleNamespace

import pytest
import toy

from dml.sweep.execution.search import CellSearcher, FreeWorkers, PlanStopper, Watch
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import TrialStore


class Trial:
    """What `Watch` asks of Ray Tune's trial."""

    def __init__(self, name: str, failures: int, most: int):
        self.trial_id, self.max_failures, self._failures = name, most, failures

    def should_recover(self) -> bool:
        return self._failures <= self.max_failures

    def get_error(self) -> str:
        return "the worker is dead"


@pytest.fixture
def sweep(toy_study, tmp_path):
    """A searcher, its watch, and the lists of what ended and of what was resumed."""
    plan = Plan(toy_study(), TrialStore(tmp_path), toy.describe)
    ended, resumed = [], []
    plan.start(lambda job, outcome, reused: ended.append((job, outcome)))
    stopper = PlanStopper(plan, lambda *evaluation: None)
    searcher = CellSearcher(plan, {}, lambda: 1, stopper)
    return searcher, Watch(searcher, stopper, lambda: resumed.append(1), None), ended, resumed


def test_such_a_trial_is_next_again_and_fails_when_that_happened_too_often(sweep):
    searcher, watch, ended, resumed = sweep
    first = searcher.suggest("0")["key"]
    for number in range(2):
        watch.on_trial_error(0, [], Trial(str(number), failures=1, most=2))
        assert not ended
        assert searcher.suggest(str(number + 1))["key"] == first
    watch.on_trial_error(0, [], Trial("2", failures=1, most=2))
    assert len(resumed) == 2
    assert [(job.key, outcome.status, outcome.lasting) for job, outcome in ended] == [(first, "failed", False)]
    assert searcher.suggest("3")["key"] != first


@pytest.mark.parametrize(
    ("places", "taken"),
    [(3, "wait 0"), (4, "wait 1"), (5, "wait 2"), (9, "wait 2"), (0, "wait 0")],
    ids=["all run", "one starts", "two start", "room for all", "nodes are lost"],
)
def test_a_free_worker_takes_a_trial_for_which_none_is_started(places, taken):
    states = ["TERMINATED", "RUNNING", "PENDING", "RUNNING", "ERROR", "PENDING", "RUNNING", "PENDING"]
    trials = [SimpleNamespace(status=status, PENDING="PENDING", RUNNING="RUNNING") for status in states]
    for number, trial in enumerate(trial for trial in trials if trial.status == "PENDING"):
        trial.name = f"wait {number}"
    controller = SimpleNamespace(get_trials=lambda: trials)
    assert FreeWorkers(lambda: places).choose_trial_to_run(controller).name == taken
    trials[:] = [trial for trial in trials if trial.status != "PENDING"]
    assert FreeWorkers(lambda: places).choose_trial_to_run(controller) is None
