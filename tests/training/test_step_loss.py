"""A loss with a filter is the loss of the batch without the samples left out."""

import pytest
import torch

from dml import discovery, losses, miners
from dml.training.loop import step_loss

LOSSES = [(name, "none") for name in discovery.names("dml.losses") if losses.closed_form_of(name) is None]
LOSSES += [(n, "loop") for n, _ in LOSSES if "synthesis" in discovery.settings_of(discovery.find("dml.losses", n))]
FOREIGN = "pytorch_metric_learning.losses.ContrastiveLoss", "pytorch_metric_learning.losses.SubCenterArcFaceLoss"
LOSSES += [(name, "none") for name in FOREIGN]


def batch(seed=0):
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(4).repeat_interleave(5)[torch.randperm(20, generator=g)]
    return torch.randn(20, 6, generator=g, dtype=torch.float64), labels, torch.rand(20, generator=g) > 0.3


def build(name, synthesis):
    settings = {"synthesis": synthesis} if synthesis != "none" else {}
    torch.manual_seed(0)
    return losses.build_for(name, settings, num_classes=4, embedding_size=6).double()


def value_and_gradient(loss, mine, x, y, kept):
    leaf = x.clone().requires_grad_()
    for parameter in loss.parameters():
        parameter.grad = None
    value, mined = step_loss(loss, mine, leaf, y, kept, torch.Generator().manual_seed(0))
    value.backward()
    return value.detach(), leaf.grad, [p.grad for p in loss.parameters()], mined


@pytest.mark.parametrize(("name", "synthesis"), LOSSES)
@pytest.mark.parametrize("mined", [False, True])
def test_the_loss_of_what_is_kept(name, synthesis, mined):
    loss = build(name, synthesis)
    if mined and not loss.uses_tuples:
        pytest.skip("it chooses its own tuples")
    mine = miners.build(positives="all", negatives="hard", padded=loss.takes_padding) if mined else None
    x, y, kept = batch()
    value, gradient, learned, _ = value_and_gradient(loss, mine, x, y, kept)
    expected, small, also_learned, _ = value_and_gradient(loss, mine, x[kept], y[kept], None)
    torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(gradient[kept], small, rtol=1e-7, atol=1e-10)
    assert not gradient[~kept].any()
    for one, other in zip(learned, also_learned, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-10)
    value, gradient, *_ = value_and_gradient(loss, mine, x, y, torch.zeros_like(kept))
    assert not gradient.any(), "where a filter keeps nothing"
    assert value == 0 or name in FOREIGN


def test_another_packages_miner_sees_only_what_is_kept():
    loss = build("contrastive", "none")
    mine = miners.build("pytorch_metric_learning.miners.BatchHardMiner")
    x, y, kept = batch()
    value, gradient, _, mined = value_and_gradient(loss, mine, x, y, kept)
    assert mined is not None
    assert len(mined[1]) == int(kept.sum())
    assert not gradient[~kept].any()
    assert value > 0
