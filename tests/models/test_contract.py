"""The contract of every backbone, found by name."""

import inspect

import pytest
import torch
from torch import nn

from dml import discovery, models
from dml.data import augment
from dml.types import Resize

NAMES = discovery.names("dml.models")
SIZE = 32
CHOSEN = {"name": "resnet18", "backbones": [{"name": "small_conv", "settings": {}}, {"name": "pixels", "settings": {}}]}


def small(name):
    """Settings of a small network without fetched weights: a part that wraps other networks chooses one by `name`."""
    part = models.find(name)
    pytest.importorskip(part.packages[0]) if part.packages else None
    return part.without_weights({key: CHOSEN[key] for key in CHOSEN if key in discovery.settings_of(part)})


@pytest.mark.parametrize("name", NAMES)
def test_says_what_the_protocol_asks(name):
    part = models.find(name)
    assert isinstance(part.version, int)
    assert all(isinstance(package, str) for package in part.packages)
    assert {"channels", "image_size"} <= set(inspect.signature(part).parameters)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_images_of_any_channels_become_features(name, channels):
    settings = small(name)
    taken = models.find(name).channels_for(channels)
    network = models.build(name, embedding_size=5, channels=taken, image_size=SIZE, **settings).eval()
    assert isinstance(network, models.EmbeddingNetwork)
    images = torch.randn(3, taken, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    assert network.backbone(images).shape == (3, network.backbone.features)
    assert network(images).shape == (3, 5)
    torch.testing.assert_close(network(images)[1:], network(images[1:]), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_gets_a_gradient(name):
    """Data-parallel training waits for all of them."""
    settings = small(name)
    channels = models.find(name).channels_for(3)
    network = models.build(name, embedding_size=5, channels=channels, image_size=SIZE, **settings)
    network(torch.randn(4, channels, SIZE, SIZE)).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


WITH_WEIGHTS = {
    "torchvision": {"name": "mobilenet_v2"},
    "timm": {"name": "resnet18"},
    "mobilenet_v1": {"weights": "x.pth"},
    "side_by_side": {"backbones": ["efficientnet_lite0", {"name": "small_conv"}]},
}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("efficientnet") or name in WITH_WEIGHTS])
def test_weights_say_their_pixels_and_their_statistics(name):
    part, settings = models.find(name), WITH_WEIGHTS.get(name, {})
    own, statistics = part.pixels(**settings), part.statistics(**settings)
    assert own.side in (224, 240, 260)
    assert own.interpolation in ("bilinear", "bicubic")
    assert 0.8 < own.crop <= 1
    assert statistics is not None
    normalization = {"channels": 3, "normalization": statistics}
    white = augment.build("none", **normalization)(torch.full((1, 3, 4, 4), 255, dtype=torch.uint8), training=False)
    expected = (1 - torch.tensor(statistics["mean"])) / torch.tensor(statistics["std"])
    torch.testing.assert_close(white[0, :, 0, 0], expected.expand(3))


def test_published_pixels_of_some_networks():
    torchvision, timm = models.find("torchvision"), models.find("timm")
    assert torchvision.pixels(name="resnet50") == Resize(224, "bilinear", 224 / 232)
    assert torchvision.pixels(name="inception_v3", weights="x.pth") == Resize(299, "bilinear", 299 / 342)
    assert torchvision.pixels(name="efficientnet_b3") == Resize(300, "bicubic", 300 / 320)
    dinov2 = {"name": "vit_small_patch14_dinov2.lvd142m"}
    assert timm.pixels(**dinov2) == Resize(518, "bicubic", 1.0)
    assert timm.pixels(**dinov2, arguments={"img_size": 224}).side == 224


class Foreign(nn.Module):
    """A backbone of another package, with statistics of its own."""

    def __init__(self, channels=3, image_size=None):
        super().__init__()
        self.features = channels

    @classmethod
    def statistics(cls, **settings):
        return {"mean": [0.1], "std": [0.2]}

    def forward(self, images):
        return images.mean((2, 3))


def test_a_foreign_backbone_has_the_defaults_and_keeps_its_own(monkeypatch):
    monkeypatch.setattr(discovery, "import_class", lambda path, label: Foreign)
    part = models.find("another.package.Foreign")
    assert part.statistics() == {"mean": [0.1], "std": [0.2]}
    assert (part.channels_for(1), tuple(part.packages)) == (1, ())
    assert part.without_weights({"a": 1}) == {"a": 1}
    network = models.build("another.package.Foreign", embedding_size=2, channels=1)
    assert type(network.backbone) is Foreign
    assert network(torch.ones(2, 1, 4, 4)).shape == (2, 2)
