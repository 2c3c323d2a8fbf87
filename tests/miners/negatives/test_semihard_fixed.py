import pytest
import torch

from dml.miners import build


def reference(naive, a, p, chosen, settings):
    beyond = [t for t in naive.others(a) if naive.d[a, t] > naive.d[a, p]]
    return [min(beyond, key=lambda t: naive.d[a, t])] if beyond else []


def test_by_hand():
    """On a line, anchor 0, its positive at 2: of the negatives at 1, 3 and 4 it gets that at 3; none is beyond 9."""
    line = torch.tensor([[0.0], [2.0], [1.0], [3.0], [4.0], [9.0]])
    labels = torch.tensor([0, 0, 1, 1, 1, 0])
    tuples = build(positives="all", negatives="semihard_fixed", normalize=False)(line, labels)
    rows = list(zip(*(column.tolist() for column in tuples), strict=True))
    assert [row for row in rows if row[0] == 0] == [(0, 1, 3)]


@pytest.mark.parametrize("sizes", [(3, 4, 2), (12, 12, 4)])
def test_a_negative_as_far_as_the_positive_is_not_beyond_it(sizes, tools):
    _, labels = tools.random_batch(0, sizes=sizes)
    identical = torch.zeros(len(labels), 3)
    mine = build(positives="all", negatives="semihard_fixed", normalize=False)
    assert len(mine(identical, labels).anchors) == 0
    assert int(mine.stats["dropped_anchors"]) == len(labels)
