"""Layers may be replaced after a network is built, as `convert_sync_batchnorm` does before data-parallel training."""

import pytest
import torch
from torch import nn

from dml import models
from dml.models import FromBlock


def whole():
    return models.build("small_conv", embedding_size=4, channels=1, pooling="both")


def upper():
    made = whole()
    made.backbone = FromBlock(made.backbone, "layers.3")
    return made.train()


@pytest.mark.parametrize(("build", "shape", "used"), [(whole, (4, 1, 8, 8), 3), (upper, (4, 16, 8, 8), 2)])
def test_the_new_layers_are_those_that_run(build, shape, used):
    torch.manual_seed(0)
    network, images = build(), torch.randn(shape)
    expected = network.eval()(images)
    assert torch.equal(network.train().eval()(images), expected)
    network = nn.SyncBatchNorm.convert_sync_batchnorm(network.train())
    ran = []
    for module in network.modules():
        if isinstance(module, nn.SyncBatchNorm):
            module.register_forward_hook(lambda module, *_: ran.append((module, module.training)))
    torch.testing.assert_close(network.eval()(images), expected)
    assert len({module for module, _ in ran}) == used
    assert not any(training for _, training in ran)
    lower = [module for module in network.modules() if isinstance(module, nn.SyncBatchNorm)][: 3 - used]
    assert not any(module.training for module in lower + [m for m in network.train().modules() if m in lower])
    assert all(not parameter.requires_grad for module in lower for parameter in module.parameters())
