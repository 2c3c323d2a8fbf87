import pytest

from dml.miners import build

KEEPS_ALL = True
ALWAYS = True


def reference(naive, a, p, chosen, settings):
    return naive.others(a)


def test_every_valid_triple(tools):
    utils = pytest.importorskip("pytorch_metric_learning.utils.loss_and_miner_utils")
    embeddings, labels = tools.random_batch(0)
    a, p, n = utils.get_all_triplets_indices(labels)
    for padded in (False, True):
        tuples = build(positives="all", negatives="all", padded=padded)(embeddings, labels)
        assert tools.triples(tuples) == set(zip(a.tolist(), p.tolist(), n.tolist(), strict=True))
