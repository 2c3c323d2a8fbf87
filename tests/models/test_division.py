"""Backbones as blocks: their composition is the network, and the upper ones go on where the lower ones end."""

import copy
import importlib.util

import pytest
import torch

from dml import models
from dml.models import FromBlock

pytestmark = pytest.mark.slow

PIXELS = 64
OWN = ["small_conv", "eps_mnist", "mlp", "inception_bn", "mobilenet_v1"]
TORCHVISION = ["mobilenet_v2", "resnet18"]
MORE = [
    *("mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1", "vgg11_bn", "alexnet", "densenet121", "resnet50"),
    *("regnet_y_400mf", "shufflenet_v2_x0_5", "mnasnet0_5", "convnext_tiny"),
]
TIMM = ["tf_efficientnet_lite0", "resnet18", "mobilenetv3_small_100"]
NETWORKS = [pytest.param(name, {}, id=name) for name in OWN]
NETWORKS += [pytest.param("torchvision", {"name": name}, id=f"torchvision-{name}") for name in TORCHVISION]
NETWORKS += [
    pytest.param("torchvision", {"name": name}, id=f"torchvision-{name}", marks=pytest.mark.slow) for name in MORE
]
NETWORKS += [
    pytest.param("timm", {"name": name, "arguments": given}, id=f"timm-{name}-{len(given)}")
    for name, given in [*((name, {}) for name in TIMM), ("tf_efficientnet_lite0", {"drop_rate": 0.5})]
    if importlib.util.find_spec("timm")
]
NETWORKS += (
    [pytest.param("efficientnet_lite0", {}, id="efficientnet_lite0")] if importlib.util.find_spec("timm") else []
)


def build(name, settings):
    """A backbone with random weights and statistics."""
    torch.manual_seed(0)
    offline = {**settings, "pretrained": False} if name in ("torchvision", "timm", "efficientnet_lite0") else settings
    made = models.build(name, embedding_size=1, channels=3, image_size=PIXELS, **offline).backbone
    for module in made.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 1.5)
    return made


@pytest.fixture
def images():
    return torch.randn(2, 3, PIXELS, PIXELS, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("name", "settings"), NETWORKS)
def test_the_blocks_one_after_another_are_the_network(name, settings, images):
    network = build(name, settings)
    whole = copy.deepcopy(network).eval()
    with torch.no_grad():
        expected = whole(images)
        names = [part.name for part in models.blocks(network)]
        assert len(set(names)) == len(names)
        trained = [part.name for part in models.blocks(network) if any(True for _ in part.module.parameters())]
        for block in {trained[0], trained[len(trained) // 2], trained[-1]}:
            divided = copy.deepcopy(network)
            below = models.lower(divided, block)(images)
            features = FromBlock(divided, block).eval()(below)
            torch.testing.assert_close(features, expected, rtol=1e-6, atol=1e-6)
    inner = getattr(network, "network", network)
    own = [part for part in models.blocks(network) if any(True for _ in part.module.parameters())]
    assert all(inner.get_submodule(part.name) is part.module for part in own)
    assert sum(p.numel() for part in own for p in part.module.parameters()) == sum(
        p.numel() for p in network.parameters()
    )


@pytest.mark.parametrize(("name", "settings"), NETWORKS)
def test_the_block_that_pools_gives_one_number_a_channel(name, settings, images):
    network, maps = build(name, settings), images
    found = [part.name for part in models.blocks(network) if part.pools]
    without = name in ("eps_mnist", "mlp") or settings.get("name") in ("vgg11_bn", "alexnet")
    assert len(found) == (0 if without else 1)
    for part in models.blocks(network):
        before, maps = maps, part.module.eval()(maps)
        if part.pools:
            assert before.shape[2:] != (1, 1)
            assert maps.flatten(1).shape == before.shape[:2]
            torch.testing.assert_close(maps.flatten(1), before.mean((2, 3)))


def test_only_the_upper_blocks_are_trained(images):
    network = FromBlock(build("torchvision", {"name": "mobilenet_v2"}), "features.14")
    features = network.backbone.network.features
    assert {index for index in range(19) if any(p.requires_grad for p in features[index].parameters())} == {
        *range(14, 19)
    }
    before = copy.deepcopy(network.state_dict())
    network.train()
    assert [block.training for block in (features[13], features[14])] == [False, True]
    network(torch.randn(4, 96, 4, 4)).sum().backward()
    changed = {key for key, value in network.state_dict().items() if not torch.equal(value, before[key])}
    assert changed
    assert all(int(key.split(".")[3]) >= 14 for key in changed)
    assert all((p.grad is not None) == p.requires_grad for p in network.parameters())


def test_dropout_that_forward_computes_is_active_only_in_training():
    pytest.importorskip("timm")
    network = FromBlock(build("timm", {"name": "tf_efficientnet_lite0", "arguments": {"drop_rate": 0.5}}), "conv_head")
    maps = torch.randn(2, 320, 2, 2)
    assert torch.equal(network.eval()(maps), network(maps))
    dropped = (network.train()(maps) == 0).float().mean()
    assert dropped > 0.4
    assert (network.eval()(maps) == 0).float().mean() < 0.9 * dropped


def test_frozen_batch_norm_stays_frozen_and_copies_are_independent():
    settings = {"name": "resnet18", "frozen_batch_norm": True}
    network = FromBlock(build("torchvision", settings), "layer4")
    assert not any(m.training for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d))
    other = copy.deepcopy(network)
    with torch.no_grad():
        other.backbone.network.layer4[0].conv1.weight.zero_()
    maps = torch.randn(2, 256, 2, 2)
    assert not torch.equal(other.eval()(maps), network.eval()(maps))


def test_the_beginning_of_a_name_is_its_first_block():
    network = build("torchvision", {"name": "resnet18"})
    below, above = models.divided(network, "layer4")
    assert (below[-1].name, above[0].name) == ("layer3.1", "layer4.0")
    assert [part.name for part in models.divided(network, "conv1")[0]] == []


@pytest.mark.parametrize(
    ("name", "settings", "block", "message"),
    [
        (
            "small_conv",
            {},
            "layer.3",
            r"unknown block 'layer.3'; did you mean 'layers.3'\? Choices: layers.0, layers.1",
        ),
        ("small_conv", {}, "layers.10", "no block from 'layers.10' on has weights to train: expected a lower one"),
        ("torchvision", {"name": "resnet18"}, "layer5", r"unknown block 'layer5'.*did you mean 'layer"),
        ("torchvision", {"name": "googlenet"}, "inception5a", r"GoogLeNet cannot be divided.*torchvision's.*ResNet"),
        ("identity", {}, "x", "the backbone Identity cannot be divided.*small_conv"),
    ],
)
@pytest.mark.filterwarnings("ignore:The default weight initialization of GoogleNet")
def test_an_impossible_block_lists_the_choices(name, settings, block, message):
    with pytest.raises(ValueError, match=message):
        models.check_block(name, settings, block)
    models.check_block("small_conv", {"width": 2}, "layers.3")
