"""Comparisons over queries, against numbers computed by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from synthetic import KEY, first_row, of_study

from dml import statistics
from dml.report.analysis.over_queries import compared, query_scores
from dml.report.sections.queries import Queries, table

CHANCE = {"easy": 0.9, "random": 0.7}


@pytest.fixture
def kept(synthetic, loaded, tmp_path):
    """Results of two methods at two noise rates, whose trials kept their queries in any order; and what they kept."""

    def make(without=()):
        results = loaded(synthetic.small())
        results = of_study(results, evaluation=replace(results.study.evaluation, keep_per_query=True))
        written = {}
        for row in results.confirmed.to_dict("records"):
            if (row["positives"], row["seed"]) in without:
                continue
            hard = np.random.default_rng([row["seed"], int(10 * row["rate"])]).random(400)  # for both methods
            right = (hard < CHANCE[row["positives"]]).astype(np.float32)
            right[7] = np.nan
            folder = tmp_path / "store" / "trials" / row["key"]
            folder.mkdir(parents=True)
            order = np.random.default_rng([row["seed"], len(row["positives"])]).permutation(400)
            np.savez(folder / "queries.npz", **{KEY: right[order], "test/index": order + 1000})
            written[row["cell"], row["seed"]] = right
        return results, written

    return make


def test_a_query_has_the_mean_over_seeds(kept):
    results, written = kept()
    easy, other = (
        next(n for n, c in results.cells.items() if (c.positives, c.rate) == (p, 0.4)) for p in ("easy", "random")
    )
    scores = query_scores(results, easy, KEY)
    assert scores.shape == (400, 3)
    assert scores.loc[1003].tolist() == [100 * written[easy, seed][3] for seed in range(3)]
    found = compared(scores, query_scores(results, other, KEY))
    a, b = (100 * np.mean([written[name, seed] for seed in range(3)], axis=0) for name in (easy, other))
    expected = statistics.compare(a, b)
    assert found["difference"] == pytest.approx(expected.difference)
    assert found["difference"] == pytest.approx(20, abs=4)
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=0.2)
    assert found["p"] == expected.p
    assert found["high"] - found["low"] < 5, "unpaired queries would give an interval of 7 points"
    assert (found["queries"], found["seeds"]) == (399, 3)


def test_only_seeds_that_both_kept_are_compared(kept):
    results, written = kept(without={("easy", 0), ("random", 2)})
    names = list(results.cells)[:2]
    found = compared(*(query_scores(results, name, KEY) for name in names))
    assert found["seeds"] == 1
    assert found["difference"] == pytest.approx(100 * np.nanmean(written[names[0], 1] - written[names[1], 1]))
    empty = compared(query_scores(results, names[0], KEY), pd.DataFrame())
    assert empty["seeds"] == empty["queries"] == 0
    assert np.isnan(empty["p"])


def test_the_table(kept):
    results, _ = kept()
    assert Queries().applies(results)
    made = table(results)
    assert len(made.frame) == 2, "one for each noise rate"
    assert set(made.frame["winner"]) == {"triplet, easy + random"}
    assert (made.frame["p adjusted"] < 0.01).all()
    texts = first_row(made)
    assert (texts["queries"], texts["seeds"]) == ("399", "3")


def test_a_study_that_keeps_no_queries_has_no_such_section(synthetic, loaded):
    results = loaded(synthetic.small())
    assert not Queries().applies(results)
    assert table(results) is None
