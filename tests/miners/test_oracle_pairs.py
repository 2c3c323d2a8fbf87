"""A miner that is told the true labels."""

import pytest
import torch

from dml import miners
from dml.miners.oracle_pairs import OraclePairs

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
