"""`torch.compile` of the padded path, whole: no break in the graph."""

import itertools
import shutil

import pytest
import torch

from dml import discovery
from dml.miners import build

PAIRS = itertools.product(discovery.names("dml.miners.positives"), discovery.names("dml.miners.negatives"))
RANDOM = {"random", "semihard", "semihard_random", "distance_weighted"}


def compare(positives, negatives, backend, tools):
    embeddings, labels = tools.random_batch(0)
    mine = build(positives=positives, negatives=negatives, padded=True, max_per_class=5)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: mine(x, y), backend=backend, fullgraph=True)
    found = tools.triples(compiled(embeddings, labels))
    assert found
    if RANDOM & {positives, negatives}:
        assert all(a != p and labels[a] == labels[p] != labels[n] for a, p, n in found)
    else:
        assert found == tools.triples(mine(embeddings, labels))


@pytest.mark.parametrize(("positives", "negatives"), PAIRS)
def test_one_graph(positives, negatives, tools):
    compare(positives, negatives, "eager", tools)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("negatives", ["semihard_fixed", "distance_weighted"])
def test_generated_code(negatives, tools):
    compare("easy", negatives, "inductor", tools)
