"""What every backbone computes, in double precision."""

import pytest
import torch

from dml import discovery, models

pytestmark = pytest.mark.slow

SIZE = 32
CHOSEN = {"name": "resnet18", "backbones": [{"name": "small_conv", "settings": {}}, {"name": "pixels", "settings": {}}]}


@pytest.mark.parametrize("name", discovery.names("dml.models"))
def test_numbers(golden, name):
    part = models.find(name)
    if part.packages:
        pytest.importorskip(part.packages[0])
    settings = part.without_weights({key: CHOSEN[key] for key in CHOSEN if key in discovery.settings_of(part)})
    channels = part.channels_for(1)
    torch.manual_seed(0)
    network = part(channels=channels, image_size=SIZE, **settings)
    images = torch.cos(torch.arange(3.0 * channels * SIZE * SIZE, dtype=torch.float64) ** 2 % 97)
    images = images.reshape(3, channels, SIZE, SIZE)
    values = {"parameters": sum(p.numel() for p in network.parameters()), "features": network.features}
    if not part.packages:  # else the package decides the initial weights
        values["initial"] = _numbers(network.double()(images))
    for index, (_, weights) in enumerate(sorted(network.double().state_dict().items())):
        if weights.is_floating_point():
            waves = torch.sin(index + 1.7 * torch.arange(weights.numel(), dtype=torch.float64)).reshape(weights.shape)
            fan = weights[0].numel() if weights.ndim > 1 else 4
            weights.copy_(waves / fan**0.5 if weights.ndim > 1 else 1 + waves / fan)
    values["training"] = _numbers(network(images))
    values["evaluation"] = _numbers(network.eval()(images))
    golden.check("models", name, part, values, rtol=1e-6, atol=1e-9)


def _numbers(features):
    """The first features of each image, and the sum of all, of features (N, D)."""
    return {"first": features[:, :4], "sum": features.sum()}
