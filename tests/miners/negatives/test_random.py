import torch

from dml.miners import build

ALWAYS = True


def reference(naive, a, p, chosen, settings):
    return naive.others(a)


def test_frequencies(tools):
    embeddings, labels = tools.random_batch(0)
    counts = tools.count(build(positives="easy", negatives="random"), embeddings, labels, 1500, column=2)
    naive = tools.Naive(embeddings, labels)
    others = [naive.others(a) if naive.mates(a) else [] for a in range(len(labels))]
    assert tools.chi_square(counts, tools.uniform_over(others, len(labels))) > 1e-3


def test_each_positive_has_its_own_draw(tools):
    embeddings, labels = tools.random_batch(0, sizes=(10, 10, 10))
    generator = torch.Generator().manual_seed(0)
    tuples = build(positives="all", negatives="random")(embeddings, labels, generator=generator)
    first = tuples.negatives[tuples.anchors == 0]
    assert len(first) == 9
    assert len(set(first.tolist())) > 4
