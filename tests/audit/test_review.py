"""The review: an unbiased estimate, an interval that covers, and answers that contradict each other."""

import dataclasses
import itertools

import numpy as np
import pytest

from dml import audit
from dml.audit.review import ReviewPlan

pytestmark = pytest.mark.slow


def answers(plan, wrong):
    return {int(row): "wrong" if wrong[row] else "right" for row in plan.rows}


def test_horvitz_thompson_over_all_possible_reviews():
    """Two strata of 4 and 3, two looks each: the mean over all 18 reviews is the rate, exactly."""
    wrong = np.array([0, 1, 0, 1, 1, 1, 0], dtype=bool)
    rates = []
    for first, second in itertools.product(itertools.combinations(range(4), 2), itertools.combinations(range(4, 7), 2)):
        rows = np.array([*first, *second])
        plan = ReviewPlan(rows, np.array([0, 0, 1, 1]), np.array([4, 3]), np.array([0.5, 0.5]), rows, rows, "")
        table = plan.table()
        rates.append(audit.estimate(plan, answers(plan, wrong)).rate)
        assert rates[-1] == pytest.approx((table["weight"] * wrong[table["index"]]).sum() / 7)
    assert len(rates) == 18
    assert np.mean(rates) == pytest.approx(4 / 7, abs=1e-12)


def test_a_thousand_reviews_cover_and_are_sharp(noisy, found):
    _, true, given = noisy
    wrong = given != true
    estimates = []
    for seed in range(400):
        plan = audit.review_plan(found, 100, seed=seed)
        estimates.append(audit.estimate(plan, answers(plan, wrong)))
    covered = np.mean([e.low <= wrong.mean() <= e.high for e in estimates])
    width = np.mean([e.high - e.low for e in estimates])
    assert covered >= 0.93
    assert width <= 0.5 * 2 * 1.96 * np.sqrt(0.2 * 0.8 / 100)
    assert np.mean([e.rate for e in estimates]) == pytest.approx(wrong.mean(), abs=0.003)


def world(rng, size: int, rate: float, hidden: float):
    """(chances, wrong labels): a share `hidden` of the wrong ones looks right; some right ones look wrong."""
    wrong, chance = np.zeros(size, dtype=bool), rng.beta(1, 60, size)
    rows = rng.permutation(size)
    count = round(rate * size)
    wrong[rows[:count]] = True
    chance[rows[round(hidden * count) : count]] = rng.beta(6, 2, count - round(hidden * count))
    chance[rows[count : count + count // 2]] = rng.beta(3, 3, count // 2)
    return chance, wrong


def coverage(found, looks: int, stops, rate: float, hidden: float, reviews: int):
    """For each number of looks, the share of reviews whose interval contains the rate after as many."""
    rng, hits = np.random.default_rng(11), {stop: [] for stop in stops}
    for seed in range(reviews):
        if seed % 10 == 0:
            chance, wrong = world(rng, 2000, rate, hidden)
            labels = np.zeros(len(chance), dtype=np.int64)
            audited = dataclasses.replace(found, score=chance, wrong=chance, labels=labels, suggested=labels)
        plan = audit.review_plan(audited, looks, seed=seed)
        given = list(answers(plan, wrong).items())
        for stop in stops:
            result = audit.estimate(plan, given[:stop])
            hits[stop].append(result.low <= wrong.mean() <= result.high)
    return {stop: float(np.mean(own)) for stop, own in hits.items()}


@pytest.mark.parametrize(("rate", "hidden"), [(0.1, 0.0), (0.3, 0.0), (0.1, 0.5), (0.3, 0.5)])
def test_reviews_that_stop_early_cover_from_the_first_look(found, rate, hidden):
    found = coverage(found, 200, (1, 5, 10, 20, 40, 100), rate, hidden, reviews=100)
    assert min(found.values()) >= 0.93, found


def test_all_images_looked_at_give_the_rate_itself(noisy, found):
    wrong = noisy[1] != noisy[2]
    plan = audit.review_plan(found, 600)
    result = audit.estimate(plan, answers(plan, wrong))
    assert (result.rate, result.low, result.high) == pytest.approx((0.2, 0.2, 0.2))


def test_unsure_answers_are_counted_and_not_used(noisy, found):
    wrong = noisy[1] != noisy[2]
    plan = audit.review_plan(found, 200)
    given = answers(plan, wrong)
    rest = dict(list(given.items())[:150])
    unsure = {**given, **dict.fromkeys(list(given)[150:], "unsure")}
    first, second = audit.estimate(plan, unsure), audit.estimate(plan, rest)
    assert (first.looks, first.unsure, second.unsure) == (150, 50, 0)
    assert (first.rate, first.low, first.high) == (second.rate, second.low, second.high)
    assert first.high - first.low > 0
