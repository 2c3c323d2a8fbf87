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


@pytest.mark.parametrize(("positives", "negatives"), PAIRS)
def test_a_common_offset_changes_no_tuple(positives, negatives, tools):
    embeddings, labels = clusters(tools)
    if "distance_weighted" in (positives, negatives) or "multi_similarity" in (positives, negatives):
        embeddings = embeddings + 100  # angles and inner products change with an offset: compare precisions only
        offset = 0.0
    else:
        offset = 100.0
    mine = build(positives=positives, negatives=negatives, normalize=False)
    shifted = mined(mine, (embeddings + offset).float(), labels, tools)
    assert shifted == mined(mine, embeddings, labels, tools)


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


@pytest.mark.parametrize("dimension", [2, 512])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_embeddings_are_at_distance_zero(dimension, dtype, tools):
    """Beside an outlier and after an offset: a duplicate in another class is not beyond the positive."""
    generator = torch.Generator().manual_seed(dimension)
    embeddings = torch.randn(1, dimension, generator=generator, dtype=dtype).repeat(12, 1) + 300
    embeddings[-1] *= 1000
    labels = torch.tensor([0, 1] * 5 + [2, 2])
    mine = build(positives="all", negatives="semihard_fixed", normalize=False)
    found = mined(mine, embeddings, labels, tools)
    assert {n for a, _, n in found if a < 10} <= {11}
