"""The time that a sweep still takes, with a clock that the tests set."""

import pytest

from dml.sweep.progress.display import Remaining


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def remaining(clock):
    return Remaining(clock)


def test_the_time_counts_down_while_trials_run(remaining, clock):
    remaining.ended("a", 100)
    assert remaining.seconds(2, ["b", "c"], 2) == 100
    clock.time = 30
    assert remaining.seconds(2, ["b", "c"], 2) == pytest.approx(70)
    clock.time = 500
    assert remaining.seconds(2, ["b", "c"], 2) == 0


def test_before_any_trial_ended_two_evaluations_give_the_pace(remaining, clock):
    clock.time = 10
    remaining.evaluated("a", 0.6)  # resumed at 0.5
    clock.time = 30
    remaining.evaluated("a", 0.8)
    assert remaining.seconds(3, ["a"], 1) == pytest.approx(220)
