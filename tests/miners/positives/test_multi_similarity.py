import pytest
import torch

from dml.miners import build

KEEPS_ALL = True


def reference(naive, a, settings):
    hardest = max((naive.s[a, t] for t in naive.others(a)), default=-float("inf"))
    return [t for t in naive.mates(a) if naive.s[a, t] < hardest + settings["epsilon"]]


@pytest.mark.parametrize("epsilon", [-0.1, -0.02, 0.0, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_as_in_pytorch_metric_learning(seed, epsilon, tools):
    """Both rules, as pairs; each anchor here keeps a positive and a negative, else it would yield no tuple."""
    miners = pytest.importorskip("pytorch_metric_learning.miners")
    embeddings, labels = tools.random_batch(seed, sizes=(4,) * 8, spread=0.6)
    a, p, b, n = miners.MultiSimilarityMiner(epsilon=epsilon)(embeddings, labels)
    positives, negatives = (torch.zeros(32, 32, dtype=torch.bool) for _ in range(2))
    positives[a, p] = True
    negatives[b, n] = True
    mine = build(positives="multi_similarity", negatives="multi_similarity", epsilon=epsilon, padded=True)
    pairs = mine(embeddings, labels)
    assert torch.equal(pairs.positives, positives)
    assert torch.equal(pairs.negatives, negatives)
    assert pairs.positives.any()
    assert epsilon > 0.1 or pairs.positives.sum() < 32 * 3


@pytest.mark.parametrize("positives", ["multi_similarity", "easy"])
def test_an_epsilon_below_zero_keeps_fewer_pairs(positives, tools):
    """LoOp mines with epsilon = -0.02 (its section 4.1)."""
    embeddings, labels = tools.random_batch(3, sizes=(4,) * 8)
    kept = {}
    for epsilon in (0.0, -0.02, -0.3):
        tuples = build(positives=positives, negatives="multi_similarity", epsilon=epsilon)(embeddings, labels)
        tools.check(tuples, tools.Naive(embeddings, labels, epsilon=epsilon), positives, "multi_similarity")
        kept[epsilon] = tools.triples(tuples)
    assert kept[-0.3] < kept[-0.02] < kept[0.0]
