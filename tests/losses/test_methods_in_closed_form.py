"""The parts that stand for a projection in closed form: a loss of 0 that names one."""

from __future__ import annotations

import pytest
import torch

from dml import discovery, losses
from dml.training.closed_form import KINDS
from dml.training.free import KIND


def test_there_is_one_for_each_projection():
    named = {losses.closed_form_of(name): name for name in discovery.names("dml.losses")}
    assert {kind: named[kind] for kind in named if kind is not None} == {kind: kind for kind in (*KINDS, KIND)}


@pytest.mark.parametrize("kind", [*KINDS, KIND])
def test_the_value_and_the_gradient_are_zero_whatever_the_batch(kind):
    loss = losses.build_for(kind, {}, num_classes=3, embedding_size=4, normalize=False)
    assert list(loss.parameters()) == []
    for scale in (1.0, torch.finfo(torch.float32).max):
        embeddings = torch.full((5, 4), scale, requires_grad=True)
        value = loss(embeddings, torch.arange(5))
        value.backward()
        assert value == 0
        assert torch.equal(embeddings.grad, torch.zeros(5, 4))


def test_other_losses_are_trained():
    assert losses.closed_form_of("triplet") is None
    assert losses.closed_form_of("torch.nn.MSELoss") is None
    with pytest.raises(ValueError, match="'whiten'; did you mean 'whitening'"):
        losses.closed_form_of("whiten")
