"""What every policy, and the miner itself, chooses for a seed."""

import pytest
import torch

from dml import discovery
from dml.miners import MinerBatch, PolicyMiner
from dml.miners._batch import UniformNumbers

SIZES = (4, 3, 1, 10, 2)  # one class without positives, one with more positives than `_choose.FEW`


VARIED = {"margin": (0.05, 0.5), "window": (False, True), "cutoff": (0.2, 0.8), "epsilon": (0.0, 0.3)}


def inputs():
    """float64 (20, 5) with norms from 0.5 to 3, and labels (20,)."""
    generator = torch.Generator().manual_seed(11)
    labels = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    labels = labels[torch.randperm(len(labels), generator=generator)]
    centres = torch.randn(len(SIZES), 5, generator=generator, dtype=torch.float64)
    return centres[labels] + torch.randn(len(labels), 5, generator=generator, dtype=torch.float64), labels


def batches():
    """One batch for each way of measuring distances."""
    embeddings, labels = inputs()
    width = max(SIZES) - 1
    yield "normalized", MinerBatch(embeddings, labels, normalize=True, squared=False, width=width)
    yield "plain squared", MinerBatch(embeddings, labels, normalize=False, squared=True, width=width)


def variants(part):
    """The defaults, and every setting at two values."""
    yield "defaults", part()
    for setting in sorted(discovery.settings_of(part) & VARIED.keys()):
        for value in VARIED[setting]:
            yield f"{setting}={value}", part(**{setting: value})


def draw():
    return UniformNumbers(torch.Generator().manual_seed(5), torch.device("cpu"))


def rows(chosen):
    """Each anchor's choices, without padding."""
    if chosen.dtype == torch.bool:
        return [row.nonzero()[:, 0].tolist() for row in chosen]
    return [[value for value in row if value >= 0] for row in chosen.tolist()]


@pytest.mark.parametrize("name", discovery.names("dml.miners.positives"))
def test_positives(name, golden):
    part = discovery.find("dml.miners.positives", name)
    values = {
        f"{kind}, {setting}": rows(policy(batch, draw()))
        for kind, batch in batches()
        for setting, policy in variants(part)
    }
    golden.check("positives", name, part, values)


@pytest.mark.parametrize("name", discovery.names("dml.miners.negatives"))
def test_negatives(name, golden):
    part = discovery.find("dml.miners.negatives", name)
    values = {
        f"{kind}, {setting}, {count} positives": rows(policy(batch, batch.mates[:, :count], draw()))
        for kind, batch in batches()
        for setting, policy in variants(part)
        for count in (1, batch.mates.shape[1])
    }
    golden.check("negatives", name, part, values)


class NearestTwo:
    """A positive policy that reads distances."""

    def __call__(self, batch, draw):
        return batch.mates.gather(1, batch.at(batch.distance, batch.mates, torch.inf).argsort(dim=1)[:, :2])


class Drawn:
    """A negative policy that draws, for some of the positives."""

    def __call__(self, batch, positives, draw):
        column = (draw(positives.shape) * batch.size).long()
        return column.masked_fill(batch.same.gather(1, column), -1)


class Near:
    """A negative policy that keeps a set."""

    def __call__(self, batch, positives, draw):
        return batch.far < 1.5 * batch.far.amin(dim=1, keepdim=True)


@pytest.mark.parametrize("padded", [False, True])
def test_the_miner(padded, golden):
    embeddings, labels = inputs()
    values = {}
    for negatives in (Drawn(), Near()):
        for settings in ({}, {"distance": "squared"}, {"normalize": False}):
            mine = PolicyMiner(NearestTwo(), negatives, padded=padded, max_per_class=4 if padded else None, **settings)
            tuples = mine(embeddings, labels, generator=torch.Generator().manual_seed(3))
            columns = [rows(c) if c.dtype == torch.bool else c.tolist() for c in tuples]
            values[f"{type(negatives).__name__} {settings}"] = {"columns": columns, **mine.stats}
    golden.check("miners", "mine_padded" if padded else "mine", PolicyMiner, values)
