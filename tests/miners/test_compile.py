"""`torch.compile` of the padded path as one graph, without breaks."""

import pytest
import torch

from dml import discovery
from dml.miners import build

pytestmark = pytest.mark.slow

POSITIVES, NEGATIVES = (discovery.names(f"dml.miners.{kind}") for kind in ("positives", "negatives"))
# Each policy with the first one of the other kind: the graph of a policy does not depend on the other policy's code,
# only on the number of columns of positives.
PAIRS = sorted({*((name, NEGATIVES[0]) for name in POSITIVES), *((POSITIVES[0], name) for name in NEGATIVES)})
ONE_COLUMN = [(POSITIVES[-1], name) for name in NEGATIVES]


@pytest.mark.parametrize(("positives", "negatives"), sorted({*PAIRS, *ONE_COLUMN}))
def test_one_graph(positives, negatives, tools):
    embeddings, labels = tools.random_batch(0)
    mine = build(positives=positives, negatives=negatives, padded=True, max_per_class=5)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: mine(x, y), backend="eager", fullgraph=True)
    found = tools.triples(compiled(embeddings, labels))
    assert found
    if tools.draws(mine, embeddings, labels):
        assert all(a != p and labels[a] == labels[p] != labels[n] for a, p, n in found)
    else:
        assert found == tools.triples(mine(embeddings, labels))
