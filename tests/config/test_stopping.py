"""What a tuning trial counts with, and what a study may say about when to stop."""

import itertools
import math

import pytest

from dml.config import SearchSection, Study, best_point, value_of
from dml.config.search import default_every, evaluated_steps

KEY = "validation/fine/recall@1"
STUDY = {"title": "A study", "datasets": ["digits"], "losses": ["triplet"]}
STUDY |= {"positives": ["random"], "negatives": ["random"]}


def curve(*values, every=10):
    return [[every * i, {KEY: value, "validation/fine/nmi": -value}] for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.1, 0.3, 0.2], (10, 0.3)),
        ([0.3, 0.1, 0.3], (0, 0.3)),  # the earliest of equally good steps; not to train at all may be best
        ([0.1, math.nan, 0.2, math.inf], (20, 0.2)),
        ([-0.5, -0.2], (10, -0.2)),
        ([math.nan], None),
        ([], None),
    ],
)
def test_the_best_point_of_a_curve(values, expected):
    assert best_point(curve(*values), KEY) == expected
    assert best_point(curve(*values)[::-1], KEY) == expected, "whatever the order of the points"


def test_only_tuning_trials_count_by_their_best_point():
    points, end = curve(0.1, 0.3, 0.2), {KEY: 0.2}
    for stop, phase in itertools.product(("last", "best"), ("tune", "confirm")):
        expected = 0.3 if (stop, phase) == ("best", "tune") else 0.2
        assert value_of(SearchSection(stop=stop), phase, KEY, end, points) == expected
    assert value_of(SearchSection(stop="best"), "tune", KEY, end, []) is None


@pytest.mark.parametrize("steps", [0, 1, 7, 10, 95, 100, 500])
def test_by_default_a_trial_is_evaluated_about_ten_times(steps):
    found = evaluated_steps(steps, default_every(steps))
    assert found[0] == 0
    assert found[-1] == steps
    assert len(found) == len(set(found)) <= 11
    assert len(found) >= min(steps, 7)


def test_the_digest_of_a_study_that_does_not_say_stays():
    assert Study(**STUDY).digest == Study(**STUDY, search={"stop": "best"}).digest
    assert Study(**STUDY).digest != Study(**STUDY, search={"stop": "last"}).digest
