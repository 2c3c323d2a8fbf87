"""Miners that are told the true labels, or get a share of the pairs wrong."""

import pytest
import torch

from dml import miners
from dml.miners.oracle_pairs import OraclePairs
from dml.miners.wrong_pairs import WrongPairs

TRUTH = torch.arange(6).repeat_interleave(5)
GIVEN = torch.where(torch.arange(30) % 4 == 0, (TRUTH + 1) % 6, TRUTH)
EMBEDDINGS = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
PATH = "dml.miners.oracle_pairs.OraclePairs"


def rows(tuples):
    return set(zip(*(column.tolist() for column in tuples), strict=True))


@pytest.mark.parametrize("right", ["positives", "negatives"])
def test_only_right_pairs_of_one_kind_are_kept(right):
    found = {}
    for kept in ("neither", right):
        miner = miners.build(PATH, right=kept, negatives="random")
        found[kept] = miner(EMBEDDINGS, GIVEN, torch.Generator().manual_seed(1), truth=TRUTH)
    if right == "positives":
        expected = {row for row in rows(found["neither"]) if TRUTH[row[0]] == TRUTH[row[1]]}
    else:
        expected = {row for row in rows(found["neither"]) if TRUTH[row[0]] != TRUTH[row[2]]}
    assert rows(found[right]) == expected
    assert 0 < len(expected) < len(rows(found["neither"]))


def test_an_unknown_choice():
    with pytest.raises(ValueError, match="right: expected one of neither, positives, negatives; got 'both'"):
        OraclePairs("both")


def mined(wrong, share, seed, **policies):
    return WrongPairs(wrong, share, **policies)(EMBEDDINGS, TRUTH, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("wrong", ["positives", "negatives"])
def test_a_share_of_one_kind_of_pairs_is_wrong(wrong):
    policies = {"positives": "all", "negatives": "random"}
    right = miners.build(**policies)(EMBEDDINGS, TRUTH, torch.Generator().manual_seed(1))
    found = mined(wrong, 0.3, seed=1, **policies)
    a, p, n = found
    assert torch.equal(a, right.anchors)
    same, apart = TRUTH[a] == TRUTH[p], TRUTH[a] != TRUTH[n]
    changed, kept = (same, apart) if wrong == "positives" else (apart, same)
    assert kept.all()
    assert 0.15 < (~changed).float().mean() < 0.45  # of 120 triples, 0.3 +- 0.042
    place = {"positives": 1, "negatives": 2}[wrong]
    assert torch.equal(found[place][changed], right[place][changed])
    assert not (a == p).any()
    assert not (a == n).any()
    assert not (p == n).any()


def test_each_other_sample_is_as_likely():
    counts = torch.zeros(30)
    for seed in range(200):
        a, _, n = mined("negatives", 1.0, seed=seed, positives="random", negatives="random")
        counts += torch.bincount(n[a == 0], minlength=30)
    assert counts[1:5].sum() == 200
    assert (counts[1:5] > 30).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"wrong": "both", "share": 0.1}, "wrong: expected one of positives, negatives; got 'both'"),
        ({"wrong": "positives", "share": 1.5}, "share: expected a number from 0 to 1; got 1.5"),
        ({"wrong": "positives", "share": -0.1}, "share: expected"),
        ({"wrong": "positives", "share": 0.1, "negatives": "soft"}, "soft"),
    ],
)
def test_bad_settings(settings, said):
    with pytest.raises(ValueError, match=said):
        WrongPairs(**settings)
