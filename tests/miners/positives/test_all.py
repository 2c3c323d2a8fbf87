import torch

from dml.miners import build

KEEPS_ALL = True
ALWAYS = True


def reference(naive, a, settings):
    return naive.mates(a)


def test_one_triple_for_each_ordered_positive_pair(tools):
    embeddings, labels = tools.random_batch(0, sizes=(4, 3, 1, 2))
    tuples = build(positives="all", negatives="random")(embeddings, labels)
    expected = [(a, p) for a in range(10) for p in range(10) if a != p and labels[a] == labels[p]]
    assert list(zip(tuples.anchors.tolist(), tuples.positives.tolist(), strict=True)) == expected


def test_bound_on_the_class_size():
    """Classes of 5 with `max_per_class=3`: static rows, the first two positives each, the others counted."""
    labels = torch.tensor([0] * 5 + [1] * 3 + [2])
    mine = build(positives="all", negatives="hard", padded=True, max_per_class=3)
    tuples = mine(torch.randn(9, 4, generator=torch.Generator().manual_seed(0)), labels)
    assert len(tuples.anchors) == 9 * 2
    rows = tuples.positives.view(9, 2).tolist()
    assert rows == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [6, 7], [5, 7], [5, 6], [-1, -1]]
    assert int(mine.stats["cut_positives"]) == 5 * 2
    loose = build(positives="all", negatives="hard", padded=True, max_per_class=7)
    loose(torch.randn(9, 4), labels)
    assert int(loose.stats["cut_positives"]) == 0
