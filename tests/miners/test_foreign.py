"""Miners of pytorch-metric-learning called as ours, and ours in its losses."""

import pytest
import torch

from dml.miners import build
from dml.types import Tuples

miners = pytest.importorskip("pytorch_metric_learning.miners")
losses = pytest.importorskip("pytorch_metric_learning.losses")

PATH = "pytorch_metric_learning.miners."


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    "name",
    ["MultiSimilarityMiner", "TripletMarginMiner", "BatchEasyHardMiner", "BatchHardMiner", "UniformHistogramMiner"],
)
def test_the_same_tensors(name, tools):
    embeddings, labels = tools.random_batch(0, dtype=torch.float32)
    settings = {"num_bins": 10} if name == "UniformHistogramMiner" else {}
    mine = build(PATH + name, **settings)
    torch.manual_seed(3)
    found = mine(embeddings.requires_grad_(), labels)
    torch.manual_seed(3)
    expected = getattr(miners, name)(**settings)(embeddings, labels)
    assert len(found) == len(expected)
    assert all(map(torch.equal, found, expected))
    assert isinstance(found, Tuples) == (len(found) == 3)
    anchors = set(found[0].tolist()) | (set(found[2].tolist()) if len(found) == 4 else set())
    assert int(mine.stats["dropped_anchors"]) == len(labels) - len(anchors)
    assert int(mine.stats["tuples"]) == max(len(found[0]), len(found[-1]))


def test_the_generator_decides_and_the_global_state_stays(tools):
    embeddings, labels = tools.random_batch(1, sizes=(6,) * 6, dtype=torch.float32)
    mine = build(PATH + "DistanceWeightedMiner")
    before = torch.random.get_rng_state()
    first, again, other = (mine(embeddings, labels, generator=generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, other))
    same = generator(1)
    assert not all(map(torch.equal, *(mine(embeddings, labels, generator=same) for _ in range(2))))
