import torch

from dml.miners import build

ALWAYS = True


def reference(naive, a, settings):
    return [min(naive.mates(a), key=lambda t: naive.d[a, t])]


def test_by_hand():
    """On a line: 0 1 3 10 of one class, 5 of another."""
    line = torch.tensor([[0.0], [1.0], [3.0], [10.0], [5.0]])
    labels = torch.tensor([0, 0, 0, 0, 1])
    tuples = build(positives="easy", negatives="hard", normalize=False)(line, labels)
    assert tuples.anchors.tolist() == [0, 1, 2, 3]
    assert tuples.positives.tolist() == [1, 0, 1, 2]
    assert tuples.negatives.tolist() == [4] * 4
