"""`search.early_stopping: halving`: its rungs, and the studies that it cannot serve."""

import pytest

from dml.config import SearchSection, Study, study_from
from dml.sweep.plan.halving import Ladder, ladder

STUDY = {"title": "A study", "datasets": ["digits"], "losses": ["triplet"]}
STUDY |= {"positives": ["random"], "negatives": ["random"]}


def study(search=(), training=(), every=10):
    own = {
        "search": {"trials": 9, "early_stopping": "halving", **dict(search)},
        "training": {"steps": 90, **dict(training)},
        "evaluation": {"every": every},
    }
    return study_from({**STUDY, **own})


def rungs(trials, steps, every, reduction=3, first=0.0):
    search = SearchSection(reduction=reduction, first_rung=first)
    return ladder(search, trials, steps, every)


def test_the_rungs_of_the_papers_example():
    """81 trials of 81 units with eta = 3: the first bracket of Li et al. (2018), table 1."""
    found = rungs(81, 81, 1)
    assert found.steps == (1, 3, 9, 27, 81)
    assert found.trials == (81, 27, 9, 3, 1)


@pytest.mark.parametrize("reduction", [2, 3, 4])
@pytest.mark.parametrize("every", [1, 7, 10, 50])
@pytest.mark.parametrize("steps", [90, 500, 1001])
@pytest.mark.parametrize("trials", [1, 2, 5, 8, 9, 27, 40])
def test_rungs_are_evaluations_that_grow(trials, steps, every, reduction):
    found = rungs(trials, steps, every, reduction)
    assert list(found.steps) == sorted(set(found.steps))
    assert found.steps[-1] == steps
    assert all(step % every == 0 and step >= every for step in found.steps[:-1])
    rounds = len(found.steps) - 1
    assert found.trials == tuple(max(1, trials // reduction**k) for k in range(rounds + 1))
    assert all(abs(step - steps / reduction ** (rounds - k)) <= every / 2 for k, step in enumerate(found.steps[:-1]))
    left = found.trials[-1] if trials > 1 else 1
    assert left == 1 or steps / reduction ** (rounds + 1) < every, "as many rounds as trials and evaluations permit"


def test_by_default_no_trial_stops_in_the_first_sixth_of_its_steps():
    search = SearchSection(early_stopping="halving")
    assert ladder(search, 27, 1000, 10) == Ladder((170, 330, 1000), (27, 9, 3))
    assert ladder(search, 9, 1000, 10) == Ladder((170, 330, 1000), (9, 3, 1))
    assert ladder(search, 3, 1000, 10) == Ladder((330, 1000), (3, 1))
    for trials in (9, 18, 27, 81, 243):
        assert ladder(search, trials, 1000, 10).cost / (1000 * trials) <= 0.30


@pytest.mark.parametrize("first", [0.0, 0.05, 0.17, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("every", [1, 7, 10, 50])
@pytest.mark.parametrize("trials", [3, 9, 40])
def test_no_rung_is_before_the_first(trials, every, first):
    found = rungs(trials, 500, every, first=first)
    assert found.steps[0] >= 500 * first - every / 2
    assert list(found.steps) == sorted(set(found.steps))
    assert found.trials == tuple(max(1, trials // 3**k) for k in range(len(found.steps)))
    without = rungs(trials, 500, every)
    assert set(found.steps[1:]) <= set(without.steps), "only the first one moves"


def test_evaluations_that_are_rare_move_the_first_rung_later():
    assert rungs(9, 500, 100, first=0.17).steps == (100, 200, 500)
    assert rungs(9, 300, 100, first=0.17).steps == (100, 300)


def test_the_cost_counts_each_step_once():
    assert rungs(9, 500, 10).cost == 9 * 60 + 3 * (170 - 60) + 1 * (500 - 170) == 1200
    assert rungs(9, 500, 0).cost == 9 * 500, "without evaluations nothing can stop"


def test_the_digest_of_a_study_that_does_not_say_stays():
    untuned = {**STUDY, "training": {"search": {}}}  # as all were before rates and decay were searched by default
    plain = Study(**untuned, search={"stop": "last"})
    assert plain.digest == Study(**untuned, search={"stop": "last", "early_stopping": "none"}).digest
    assert plain.digest == "0474ba6ac1454a92"
    assert plain.digest != Study(**STUDY, search={"early_stopping": "halving", "stop": "best"}).digest


@pytest.mark.parametrize(
    ("search", "training", "every", "said"),
    [
        ({"stop": "last"}, {}, None, r"at most 30; trials are only evaluated at their end"),
        ({}, {}, 31, r"1/3 of their 90 steps or earlier: expected evaluation\.every of at most 30; got 31"),
        ({"trials": 2}, {}, 10, r"search\.trials of at least 3 \(search\.reduction\), got 2"),
        ({}, {"steps": 2}, 1, r"training\.steps of at least 3 \(search\.reduction\), got 2"),
        ({"reduction": 1}, {}, 10, r"reduction\s+Input should be greater than or equal to 2"),
        ({"sampler": "fixed"}, {}, 10, r"'fixed' nothing is searched"),
        ({}, {"search": {"steps": {"choice": [30, 90]}}}, 10, r"training\.search has 'steps'"),
        ({"early_stopping": "asha"}, {}, 10, r"Input should be 'none' or 'halving'"),
    ],
)
def test_what_cannot_work_is_said_once_before_anything_runs(search, training, every, said):
    with pytest.raises(ValueError, match=said) as caught:
        study(search, training, every)
    assert str(caught.value).count("Value error") <= 1


def test_steps_that_vary_are_checked_each():
    search = {"trials": 9, "early_stopping": "halving"}
    content = {**STUDY, "search": search, "evaluation": {"every": 10}}
    study_from({**content, "grid": {"training.steps": [30, 90]}})
    with pytest.raises(ValueError, match=r"1/3 of their 20 steps"):
        study_from({**content, "grid": {"training.steps": [20, 90]}})
