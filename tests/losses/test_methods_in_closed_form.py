"""The parts that stand for a projection in closed form: a study names one as a loss."""

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
def test_as_a_loss_of_ones_own_loop_it_says_that_nothing_can_be_trained(kind):
    loss = losses.build_for(kind, {}, num_classes=3, embedding_size=4, normalize=False)
    assert list(loss.parameters()) == []
    with pytest.raises(ValueError, match=f"{kind!r} among the losses of a study"):
        loss(torch.ones(5, 4, requires_grad=True), torch.arange(5))


def test_other_losses_are_trained():
    assert losses.closed_form_of("triplet") is None
    assert losses.closed_form_of("torch.nn.MSELoss") is None
    with pytest.raises(ValueError, match="'whiten'; did you mean 'whitening'"):
        losses.closed_form_of("whiten")
