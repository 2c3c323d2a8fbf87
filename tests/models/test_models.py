"""Backbones: what is frozen stays so, and a network is the same with and without weights to start from."""

import pytest
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from dml import models

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backbone", ["torchvision", "timm"])
def test_frozen_batch_norm_is_frozen_from_the_first_step(backbone):
    """A trial builds a network and trains it; `train()` comes only after its first evaluation."""
    if backbone == "timm":
        pytest.importorskip("timm")
    settings = {"name": "resnet18", "pretrained": False, "frozen_batch_norm": True}
    model = models.build(backbone, embedding_size=4, **settings)
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    assert norms
    assert not any(m.training or m.weight.requires_grad for m in norms)
    before = norms[0].running_mean.clone()
    model(torch.randn(4, 3, 32, 32))
    assert torch.equal(norms[0].running_mean, before)
    assert model.head.training
    assert model.head.weight.requires_grad


def test_small_conv_averages_over_the_parts_of_a_grid():
    """Equal parts: their mean is the mean of the image, and a picture that is moved to another part changes it."""
    torch.manual_seed(0)
    whole, parts = models.SmallConv(width=4).eval(), models.SmallConv(width=4, grid=2).eval()
    parts.load_state_dict(whole.state_dict())
    images = torch.randn(3, 1, 16, 24)
    assert (whole.features, parts.features) == (16, 64)
    torch.testing.assert_close(parts(images).view(3, 16, 4).mean(2), whole(images))

    left = torch.zeros(1, 1, 16, 48)
    left[..., 4:12, 4:12] = torch.randn(8, 8)
    right = left.roll(24, dims=3)
    torch.testing.assert_close(whole(left), whole(right))
    assert not torch.allclose(parts(left), parts(right), atol=1e-2)

    with pytest.raises(ValueError, match="grid: expected at least 1, got 0"):
        models.SmallConv(grid=0)
