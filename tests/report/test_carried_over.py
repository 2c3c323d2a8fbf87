"""Choices made on other datasets and on clean labels, against a naive loop over the trials."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dml.config import DatasetSection
from dml.report.analysis.carried_over import carried_over, elected, regrets

pytestmark = pytest.mark.slow

KEY = "test/fine/recall@1"
WAYS = sorted(itertools.product(["triplet", "margin"], ["random", "easy"], ["random", "semihard_random"]))
BEST = ("margin", "easy", "random")


@pytest.fixture
def crossed_study(synthetic, loaded):
    """(name, alter, changes) -> the results on a dataset of this name."""

    def make(name, alter=lambda frame: frame, **changes):
        changes = {"datasets": [DatasetSection(name="digits", id=name)], **changes}
        return loaded(synthetic.study(name, **changes), alter)

    return make


def shuffled(seed, lift):
    """Scores of no pattern, `lift` higher for `BEST` under noise."""

    def alter(frame):
        frame[KEY] = np.random.default_rng(seed).random(len(frame)).round(3) / 2
        best = (frame["loss"] == BEST[0]) & (frame["positives"] == BEST[1]) & (frame["negatives"] == BEST[2])
        frame.loc[best & (frame["rate"] > 0), KEY] += lift
        return frame

    return alter


def scores(results):
    """By rate, (C, S) in percent."""
    frame = results.confirmed.set_index(["rate", "loss", "positives", "negatives", "seed"])[KEY]
    return {
        rate: np.array([[100 * frame[(rate, *way, seed)] for seed in (0, 1, 2)] for way in WAYS])
        for rate in (0.0, 0.2, 0.4)
    }


def test_against_a_loop(crossed_study):
    made = {name: crossed_study(name, shuffled(i, 0.3)) for i, name in enumerate("abc")}
    of = {name: scores(results) for name, results in made.items()}
    found = carried_over(list(made.values()))
    assert [one.ways.dataset for one in found] == ["a", "b", "c"]
    usual = WAYS.index(("triplet", "random", "semihard_random"))
    for one in found:
        mine = of[one.ways.dataset]
        others = [np.mean([s.mean() for s in (own[rate][way] for rate in own)]) for way in range(8)
                  for own in (of[name] for name in "abc" if name != one.ways.dataset)]  # fmt: skip
        chosen = int(np.argmax(np.reshape(others, (8, 2)).mean(axis=1)))
        assert one.choice == WAYS[chosen] == BEST
        assert (one.choosers, one.alike) == (2, True)
        gains = [np.mean([mine[rate][chosen, s] - mine[rate][usual, s] for rate in mine]) for s in range(3)]
        low, high = stats.t.interval(0.95, 2, np.mean(gains), stats.sem(gains))
        assert (one.gain.mean, one.gain.low, one.gain.high) == pytest.approx((np.mean(gains), low, high))
        regret, from_clean = [], {0.2: [], 0.4: []}
        for s, rate in itertools.product(range(3), mine):
            rest = [t for t in range(3) if t != s]
            best = max(range(8), key=lambda way: round(sum(mine[rate][way, t] for t in rest), 9))
            regret.append(mine[rate][best, s] - mine[rate][chosen, s])
            if rate:
                clean = max(range(8), key=lambda way: round(sum(mine[0.0][way, t] for t in rest), 9))
                from_clean[rate].append(mine[rate][best, s] - mine[rate][clean, s])
        assert one.regret.mean == pytest.approx(np.mean(regret))
        assert {rate: s.mean for (_, rate), s in one.from_clean.items()} == pytest.approx(
            {rate: np.mean(values) for rate, values in from_clean.items()}
        )


def test_equal_means_choose_the_first_way_however_they_are_added(crossed_study):
    """1 + 14 is more than 2 + 13 in percentages of floats."""

    def tied(frame):
        plain = frame["seed"].map({0: 0.02, 1: 0.13, 2: 0.0})
        first = (frame["loss"] == "margin") & (frame["positives"] == "easy") & (frame["negatives"] == "random")
        frame[KEY] = plain.where(first, frame["seed"].map({0: 0.01, 1: 0.14, 2: 0.0}))
        return frame

    found = carried_over([crossed_study(name, tied) for name in "ab"])
    assert {one.choice for one in found} == {WAYS[0]}
    np.testing.assert_array_equal(elected(100 * np.array([[0.02, 0.13, 0.0], [0.01, 0.14, 0.0]])), [1, 0, 0])


def test_regret_does_not_count_luck():
    rng, found, naive = np.random.default_rng(7), [], []
    for _ in range(400):
        cells = rng.normal(size=(30, 4))  # all cells are equally good: no choice can be regretted
        found.append(regrets(cells[0], cells).mean())
        naive.append(cells.mean(axis=1).max() - cells[0].mean())
    assert np.mean(found) == pytest.approx(0, abs=0.1)
    assert np.mean(naive) > 0.9


def test_regret_against_a_loop():
    cells = np.random.default_rng(8).normal(size=(6, 3))
    for seed, found in enumerate(regrets(cells[2], cells)):
        others = [s for s in range(3) if s != seed]
        best = max(range(6), key=lambda c: np.mean([cells[c, s] for s in others]))
        assert found == pytest.approx(cells[best, seed] - cells[2, seed])
