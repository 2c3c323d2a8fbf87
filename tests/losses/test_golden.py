"""The numbers of every loss in float64: value, gradients and stats, for each form of tuples and each synthesis."""

import pytest
import torch

from dml import discovery, losses
from dml.losses.synthesis import SYNTHESES
from dml.types import Pairs, Tuples

NAMES = [name for name in discovery.names("dml.losses") if losses.closed_form_of(name) is None]


def batch():
    """Embeddings (12, 3), labels (12,) of 4 classes: far from ties, and any class and order of rows."""
    index = torch.arange(36, dtype=torch.float64).view(12, 3)
    y = torch.tensor([2, 0, 1, 3, 0, 2, 1, 1, 0, 3, 2, 0])
    x = torch.sin(1 + 1.7 * index + 0.11 * index**2) + 0.6 * torch.cos(y[:, None] + torch.arange(3))
    return x, y


def forms(y):
    """None, triples with padding and a repetition, and masks of some of the pairs."""
    same = y[:, None] == y
    n = torch.arange(len(y))
    some = (n[:, None] + 2 * n) % 3 > 0
    pairs = Pairs(same & some & ~torch.eye(len(y), dtype=torch.bool), ~same & some)
    triples = (pairs.positives[:, :, None] & pairs.negatives[:, None]).nonzero()[::7]
    padding = torch.full((2, 3), -1)
    return {"none": None, "tuples": Tuples(*torch.cat((triples, triples[:1], padding)).T), "pairs": pairs}


def variants(part):
    """The defaults; each other option of its choices; each way to synthesise negatives if the loss has several."""
    defaults = discovery.defaults_of(part)
    options = [(key, option) for key, space in part.search_space.items() for option in getattr(space, "options", ())]
    options += [("synthesis", kind) for kind in SYNTHESES if "synthesis" in defaults]
    other = {f"{key}={option}": {key: option} for key, option in options if option != defaults.get(key)}
    return {"default": {}, **other}


@pytest.mark.parametrize("name", NAMES)
def test_golden(golden, name):
    part = discovery.find("dml.losses", name)
    x, y = batch()
    values = {}
    for variant, settings in variants(part).items():
        for form, tuples in forms(y).items():
            loss = losses.build_for(name, settings, num_classes=4, embedding_size=3).double()
            with torch.no_grad():
                for k, parameter in enumerate(loss.parameters()):
                    wave = torch.sin(torch.arange(parameter.numel()) + k).view_as(parameter)
                    parameter.copy_(0.1 * wave + (1 if parameter.ndim == 1 else 0))  # one beta per class is about 1
            leaf = x.clone().requires_grad_()
            value = loss(leaf, y, tuples)
            value.backward()
            values[f"{variant}/{form}"] = {
                "value": value,
                "gradient": leaf.grad,
                "parameters": {key: p.grad for key, p in loss.named_parameters()},
                "stats": dict(loss.stats),
            }
            if not loss.uses_tuples:
                break  # the forms make no difference, which the contract suite checks
    golden.check("losses", name, part, values, rtol=1e-7, atol=1e-10)
