import pytest

from dml.miners import build

ALWAYS = True


def reference(naive, a, settings):
    return [max(naive.mates(a), key=lambda t: naive.d[a, t])]


@pytest.mark.parametrize("seed", range(5))
def test_as_in_pytorch_metric_learning(seed, tools):
    miners = pytest.importorskip("pytorch_metric_learning.miners")
    embeddings, labels = tools.random_batch(seed, sizes=(4,) * 8)
    for theirs, ours in (("hard", "hard"), ("semihard", "semihard_fixed")):
        a, p, _, n = miners.BatchEasyHardMiner(pos_strategy="hard", neg_strategy=theirs)(embeddings, labels)
        tuples = build(positives="hard", negatives=ours)(embeddings, labels)
        assert tools.triples(tuples) == set(zip(a.tolist(), p.tolist(), n.tolist(), strict=True))
