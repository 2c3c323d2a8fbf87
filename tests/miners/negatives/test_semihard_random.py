import pytest
import torch

from dml.miners import build

pytestmark = pytest.mark.slow


def reference(naive, a, p, chosen, settings):
    d, margin = naive.d[a], settings["margin"]
    if settings["window"]:
        return [t for t in naive.others(a) if d[p] < d[t] < d[p] + margin] or naive.others(a)
    return [t for t in naive.others(a) if d[p] - d[t] + margin > 0]


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("sizes", [(5, 5, 6), (12, 11)])  # a pass for each place, and a sort
def test_frequencies(window, sizes, tools):
    """The draws of one positive pair: with `hard` positives there is one an anchor; with `all`, those of one pair."""
    embeddings, labels = tools.random_batch(2, sizes=sizes, spread=1.5)
    naive = tools.Naive(embeddings, labels, window=window)
    anchors = [a for a in range(len(labels)) if labels[a] == 0]
    mate = {a: min(naive.mates(a)) for a in anchors}
    mine = build(positives="all", negatives="semihard_random", window=window)
    generator = torch.Generator().manual_seed(0)
    found = zip(*(mine(embeddings, labels, generator=generator) for _ in range(1000)), strict=True)
    a, p, n = (torch.cat(column) for column in found)
    one = torch.tensor([mate[b] if b in anchors[:4] else -1 for b in range(len(labels))])[a] == p
    size = len(labels)
    counts = torch.bincount(a[one] * size + n[one], minlength=size * size).view(size, size)
    admissible = [
        naive.negatives("semihard_random", a, mate[a], None) if a in anchors[:4] else [] for a in range(len(labels))
    ]
    assert tools.chi_square(counts.numpy(), tools.uniform_over(admissible, len(labels))) > 1e-3


def test_by_hand():
    """On a line, anchor 0, positive at 2, margin 1.5: strangers nearer than 3.5; in the window those beyond 2."""
    line = torch.tensor([[0.0], [2.0], [1.0], [3.0], [4.0]])
    labels = torch.tensor([0, 0, 1, 1, 1])
    for window, margin, expected in ((False, 1.5, {2, 3}), (True, 1.5, {3}), (False, 0.5, {2}), (True, 0.5, {2, 3, 4})):
        mine = build(positives="easy", negatives="semihard_random", normalize=False, margin=margin, window=window)
        generator = torch.Generator().manual_seed(0)
        drawn = {int(mine(line, labels, generator=generator).negatives[0]) for _ in range(60)}
        assert drawn == expected
