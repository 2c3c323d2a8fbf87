import pytest
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


@pytest.mark.parametrize("seed", range(5))
def test_as_in_pytorch_metric_learning(seed, tools):
    miners = pytest.importorskip("pytorch_metric_learning.miners")
    embeddings, labels = tools.random_batch(seed, sizes=(4,) * 8)
    for theirs, ours in (("hard", "hard"), ("semihard", "semihard_fixed")):
        a, p, _, n = miners.BatchEasyHardMiner(pos_strategy="easy", neg_strategy=theirs)(embeddings, labels)
        tuples = build(positives="easy", negatives=ours)(embeddings, labels)
        assert len(a) > 0
        assert tools.triples(tuples) == set(zip(a.tolist(), p.tolist(), n.tolist(), strict=True))
