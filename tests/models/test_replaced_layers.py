"""Layers may be replaced after a network is built, as `convert_sync_batchnorm` does before data-parallel training."""

import torch
from torch import nn

from dml import models


def test_the_new_layers_are_those_that_run():
    torch.manual_seed(0)
    network, images = models.build("small_conv", embedding_size=4, channels=1), torch.randn(4, 1, 8, 8)
    expected = network.eval()(images)
    assert torch.equal(network.train().eval()(images), expected)
    network = nn.SyncBatchNorm.convert_sync_batchnorm(network.train())
    ran = []
    for module in network.modules():
        if isinstance(module, nn.SyncBatchNorm):
            module.register_forward_hook(lambda module, *_: ran.append((module, module.training)))
    torch.testing.assert_close(network.eval()(images), expected)
    assert len({module for module, _ in ran}) == 3
    assert not any(training for _, training in ran)
