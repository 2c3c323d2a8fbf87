"""Distances of embeddings that are not normalised: small differences beside large norms."""

import pytest
import torch

from dml import discovery
from dml.miners import build

PAIRS = [
    *(("all", negatives) for negatives in discovery.names("dml.miners.negatives")),
    *((positives, "hard") for positives in discovery.names("dml.miners.positives")),
]


def clusters(tools):
    """float64 (64, 8): 16 classes of 4, about 0.03 apart, exact in float32 also after an offset of 100."""
    embeddings, labels = tools.random_batch(0, sizes=(4,) * 16, spread=0.5)
    return (embeddings * 2**9).round() / 2**16, labels


def mined(mine, embeddings, labels, tools):
    return tools.triples(mine(embeddings, labels, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("distance", ["euclidean", "squared"])
@pytest.mark.parametrize(("positives", "negatives"), PAIRS)
def test_an_outlier_costs_no_tuple(positives, negatives, distance, tools):
    """One embedding of norm 1000: float32 gives the tuples that float64 gives, and the definition says."""
    embeddings, labels = clusters(tools)
    embeddings /= 32  # exact
    embeddings[5] = torch.tensor([1000.0] + [0.0] * 7)
    mine = build(positives=positives, negatives=negatives, normalize=False, distance=distance)
    found = mined(mine, embeddings.float(), labels, tools)
    assert found == mined(mine, embeddings, labels, tools)
    naive = tools.Naive(embeddings, labels, normalize=False, squared=distance == "squared")
    tuples = mine(embeddings.float(), labels, generator=torch.Generator().manual_seed(0))
    tools.check(tuples, naive, positives, negatives)


@pytest.mark.parametrize("scale", [1e-37, 1e30])
@pytest.mark.parametrize(("positives", "negatives"), PAIRS)
def test_normalised_rows_of_any_length(positives, negatives, scale, tools):
    """Lengths that differ by 1e60 in one batch change no tuple."""
    embeddings, labels = tools.random_batch(0, dtype=torch.float32)
    mine = build(positives=positives, negatives=negatives)
    expected = mined(mine, embeddings, labels, tools)
    assert mined(mine, embeddings * scale, labels, tools) == expected
    some = torch.where(torch.arange(len(labels)) % 2 == 0, scale, 1.0)[:, None]
    assert mined(mine, embeddings * some, labels, tools) == expected
