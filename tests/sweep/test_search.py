"""What the searcher does with a trial that Ray Tune gives up because its reused worker died before it began."""

from __future__ import annotations

import optuna
import pytest
import toy

from dml.sweep.plan import Plan
from dml.sweep.search import CellSearcher, PlanStopper, Watch
from dml.sweep.store import TrialStore


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
    plan = Plan(toy_study(), TrialStore(tmp_path), toy.describe, optuna.storages.InMemoryStorage())
    ended, resumed = [], []
    plan.start(lambda job, outcome, reused: ended.append((job, outcome)))
    stopper = PlanStopper(plan, lambda *evaluation: None)
    searcher = CellSearcher(plan, {}, lambda: 1, stopper, lambda key: None)
    return searcher, Watch(searcher, stopper, lambda: resumed.append(1), lambda: None, None), ended, resumed


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


def test_one_whose_own_worker_died_too_often_fails_at_once(sweep):
    searcher, watch, ended, resumed = sweep
    searcher.suggest("0")
    watch.on_trial_error(0, [], Trial("0", failures=3, most=2))
    ((_, outcome),) = ended
    assert "died too often; the last error:\nthe worker is dead" in outcome.error
    assert not resumed
