import pytest
import torch

from dml.miners import build

pytestmark = pytest.mark.slow

ALWAYS = True


def reference(naive, a, settings):
    nearest = min((naive.d[a, t] for t in naive.others(a)), default=float("inf"))
    return [t for t in naive.mates(a) if naive.d[a, t] > nearest] or naive.mates(a)


def test_by_hand():
    """On a line, anchor 0: mates at 1, 4 and 6; a negative at 3 leaves 4 and 6, one at 9 leaves all three."""
    for other, expected in ((3.0, {2, 3}), (9.0, {1, 2, 3})):
        line = torch.tensor([[0.0], [1.0], [4.0], [6.0], [other]])
        labels = torch.tensor([0, 0, 0, 0, 1])
        mine = build(positives="semihard", negatives="hard", normalize=False)
        generator = torch.Generator().manual_seed(0)
        drawn = {int(mine(line, labels, generator=generator).positives[0]) for _ in range(50)}
        assert drawn == expected


def test_frequencies(tools):
    embeddings, labels = tools.random_batch(1, sizes=(6, 6, 5, 1), spread=0.7)
    counts = tools.count(build(positives="semihard", negatives="hard"), embeddings, labels, 1000, column=1)
    naive = tools.Naive(embeddings, labels)
    admissible = [naive.positives("semihard", a) for a in range(len(labels))]
    assert len({len(each) for each in admissible}) > 1
    assert tools.chi_square(counts, tools.uniform_over(admissible, len(labels))) > 1e-3
