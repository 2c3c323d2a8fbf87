"""`seeds: auto` on a page: intervals and p are adjusted for the planned looks, which the page names."""

import numpy as np
import pytest

from dml import sequential
from dml.config.auto_seeds import AutoSection
from dml.report.analysis.interval_coverage import covers, looks_made
from dml.report.analysis.paired import versus_winner
from dml.report.sections.winners import winners
from dml.report.verdicts import Expected, effect

KEY = "test/fine/recall@1"


@pytest.fixture
def results(synthetic, loaded):
    """Two methods; one has 8 of at most 20 seeds."""
    auto = AutoSection()
    study = synthetic.small(noise=synthetic.noise([0.0]), seeds=list(range(20)), auto_seeds=auto)
    draw = np.random.default_rng(0)

    def alter(frame):
        confirmed = frame["phase"] == "confirm"
        frame.loc[confirmed, KEY] = 0.5 + 0.02 * draw.standard_normal(confirmed.sum())
        return frame[frame["seed"] < 8]

    return loaded(study, alter)


def test_a_comparison_is_adjusted_for_all_planned_looks(results):
    row, looks = versus_winner(results).iloc[0], results.study.auto_seeds.looks
    a, b = (results.values(row[name], KEY) for name in ("winner", "other"))
    own = sequential.estimate((a - b).to_numpy(), looks)
    assert (row["difference"], row["low"], row["high"], row["p"]) == pytest.approx((own.mean, own.low, own.high, own.p))
    plain = 2.365 * (a - b).std() / 8**0.5
    assert row["high"] - row["low"] > 2 * plain * 1.2
    assert looks_made(results) == 3
    assert "seeds, and are adjusted for 3 of 5 planned looks" in covers(results)
    assert covers(results) in winners(results).caption
    assert results.missing() == {}, "no cell lacks a seed that it was to have"


def test_a_claim_is_adjusted_too():
    x, looks = np.array([1.0, 2.0, 1.5, 2.5, 1.0]), sequential.looks(3, 20)
    own, plain = effect(x, Expected(), {}, looks), effect(x, Expected(), {})
    assert own.confirming == pytest.approx(sequential.estimate(x, looks).p)
    assert own.confirming > plain.confirming
    assert own.refuting == 1.0
    assert own.high - own.low > plain.high - plain.low
    less = effect(x, Expected("below"), {}, looks)
    assert (less.confirming, less.refuting) == (own.refuting, own.confirming)
    equal = effect(0.1 * x, Expected("within", 1.0), {}, looks)
    assert equal.confirming < 0.05 < equal.refuting


def test_an_early_look_that_found_the_reverse_confirms_nothing():
    x = np.array([-1.0, -1.03, -0.97, 3.0, 3.2, 2.9, 3.1, -2.0])
    found = effect(x, Expected(), {}, (3, 5, 8))
    assert found.low < 0 < found.mean
    assert found.confirming > 0.05
