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


def test_a_reused_trial_says_nothing_about_time(remaining):
    remaining.ended("a", None)
    assert remaining.seconds(6, [], 2) is None


def test_a_trial_counts_from_its_start_not_from_its_first_step(remaining, clock):
    assert remaining.seconds(3, ["a"], 1) is None
    clock.time = 620  # 600 of them it waited for a node, 15 before its training
    remaining.ended("a", 5, since=20)
    assert remaining.seconds(2, [], 1) == 40


def test_a_worker_of_an_earlier_sweep_says_nothing(remaining, clock):
    remaining.seconds(3, ["a"], 1)
    clock.time = 8
    remaining.ended("a", 5, since=3600)
    assert remaining.seconds(2, [], 1) == 16


def test_of_a_resumed_trial_its_training_says_more(remaining, clock):
    remaining.seconds(3, ["a"], 1)
    clock.time = 20
    remaining.ended("a", 100, since=20)
    assert remaining.seconds(2, [], 1) == 200


def test_the_time_counts_down_while_trials_run(remaining, clock):
    remaining.ended("a", 100)
    assert remaining.seconds(2, ["b", "c"], 2) == 100
    clock.time = 30
    assert remaining.seconds(2, ["b", "c"], 2) == pytest.approx(70)
    clock.time = 500
    assert remaining.seconds(2, ["b", "c"], 2) == 0


def test_a_trial_that_takes_longer_than_others_takes_nothing_from_them(remaining, clock):
    remaining.ended("a", 100)
    remaining.seconds(3, ["b"], 1)
    clock.time = 500
    assert remaining.seconds(3, ["b"], 1) == 200


def test_an_evaluation_says_how_far_a_trial_is(remaining, clock):
    remaining.ended("a", 100)
    clock.time = 60
    remaining.evaluated("b", 0.2)
    clock.time = 70
    assert remaining.seconds(1, ["b"], 2) == pytest.approx(70)


def test_before_any_trial_ended_two_evaluations_give_the_pace(remaining, clock):
    clock.time = 10
    remaining.evaluated("a", 0.6)  # resumed at 0.5
    clock.time = 30
    remaining.evaluated("a", 0.8)
    assert remaining.seconds(3, ["a"], 1) == pytest.approx(220)


def test_the_last_trial_gains_nothing_from_free_slots(remaining):
    remaining.ended("a", 100)
    assert remaining.seconds(1, ["b"], 8) == 100
