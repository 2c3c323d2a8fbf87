"""The time that a sweep still takes, with a clock that the tests set."""

from __future__ import annotations

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


def test_nothing_is_said_before_a_trials_time_is_known(remaining, clock):
    assert remaining.seconds(4, ["a", "b"], 2) is None
    clock.time = 50
    remaining.evaluated("a", 0.5)  # a resumed trial did most of this earlier
    assert remaining.seconds(4, ["a", "b"], 2) is None


def test_trials_that_are_not_begun_take_as_long_as_those_that_ended(remaining):
    remaining.ended("a", 90)
    remaining.ended("b", 110)
    assert remaining.seconds(6, [], 2) == 300
    assert remaining.seconds(6, [], 1) == 600


def test_a_trial_counts_from_its_start_not_from_its_first_step(remaining, clock):
    assert remaining.seconds(3, ["a"], 1) is None
    clock.time = 620  # 600 of them it waited for a node, 15 before its training
    remaining.ended("a", 5, since=20)
    assert remaining.seconds(2, [], 1) == 40


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
