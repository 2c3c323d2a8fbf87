"""`torch.compile` of the padded path, whole: no break in the graph."""

import itertools

import pytest
import torch

from dml.miners import build

PAIRS = [
    *itertools.product(("all", "easy", "hard", "multi_similarity"), ("all", "hard", "semihard_fixed")),
    ("easy", "multi_similarity"),
]


@pytest.mark.parametrize(("positives", "negatives"), PAIRS)
def test_the_same_triples(positives, negatives, tools):
    embeddings, labels = tools.random_batch(0)
    mine = build(positives=positives, negatives=negatives, padded=True, max_per_class=5)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: mine(x, y), backend="eager", fullgraph=True)
    assert tools.triples(compiled(embeddings, labels)) == tools.triples(mine(embeddings, labels))
