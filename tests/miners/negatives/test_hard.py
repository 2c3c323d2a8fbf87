import torch

from dml.miners import build

ALWAYS = True


def reference(naive, a, p, chosen, settings):
    return [min(naive.others(a), key=lambda t: naive.d[a, t])]


def test_by_hand():
    """On a line: the nearest stranger, the same for each positive."""
    line = torch.tensor([[0.0], [2.0], [3.0], [7.0], [8.0]])
    labels = torch.tensor([0, 0, 1, 0, 1])
    tuples = build(positives="all", negatives="hard", normalize=False)(line, labels)
    expected = {(0, 1, 2), (0, 3, 2), (1, 0, 2), (1, 3, 2), (3, 0, 4), (3, 1, 4), (2, 4, 1), (4, 2, 3)}
    assert set(zip(*(column.tolist() for column in tuples), strict=True)) == expected


def test_of_equally_near_strangers_the_first_is_chosen():
    line = torch.tensor([[0.0], [1.0], [2.0], [-2.0], [2.0]])
    tuples = build(positives="easy", negatives="hard", normalize=False)(line, torch.tensor([0, 0, 1, 2, 3]))
    assert tuples.negatives.tolist() == [2, 2]
