"""Backbones from a block on: the lower part and the upper part are the network, whatever its class."""

import copy

import pytest
import torch
from torch import nn

from dml import models
from dml.models import FromBlock
from dml.models._wrapped import inside

pytestmark = pytest.mark.slow

PIXELS = 64
SHAPE = (3, PIXELS, PIXELS)
OFFLINE = {"pretrained": False}
VIT = {"patch_size": 16, "embed_dim": 24, "depth": 3, "num_heads": 3}
SWIN = {"embed_dim": 12, "depths": [1, 2], "num_heads": [2, 2], "window_size": 4}
TORCHVISION = [
    *("mobilenet_v2", "resnet18", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1", "alexnet", "densenet121"),
    *("resnet50", "regnet_y_400mf", "shufflenet_v2_x0_5", "mnasnet0_5", "convnext_tiny", "swin_t", "swin_v2_t"),
    *("vit_b_16", "googlenet"),
]
TIMM = {  # networks by name, and arguments that make them small
    "vit_tiny_patch16_224": VIT,
    "vit_small_patch14_reg4_dinov2": VIT,
    "vit_tiny_patch16_384": {**VIT, "global_pool": "avg"},
    "vit_base_patch16_siglip_224": VIT,
    "vit_base_patch16_clip_224": VIT,
    "deit_tiny_distilled_patch16_224": VIT,
    "deit3_small_patch16_224": VIT,
    "beit_base_patch16_224": VIT,
    "eva02_tiny_patch14_224": VIT,
    "vit_small_patch16_dinov3": VIT,
    "cait_xxs24_224": VIT,
    "swin_tiny_patch4_window7_224": SWIN,
    "swinv2_tiny_window8_256": SWIN,
    "convnext_atto": {"depths": [1, 1, 2, 1], "dims": [8, 12, 16, 20]},
    "pvt_v2_b0": {"depths": [1, 1, 1, 2], "embed_dims": [8, 16, 40, 64]},
    "tf_efficientnetv2_b0": {"channel_multiplier": 0.25},
}
SMALL = ["tf_efficientnet_lite0", "resnet10t", "mobilenetv3_small_050", "mobilenetv4_conv_small_035", "regnetx_002"]
TIMM |= {name: {} for name in [*SMALL, "lcnet_035", "levit_128s", "mobilevit_xxs", "edgenext_xx_small"]}
NETWORKS = [
    *((name, {}) for name in ("small_conv", "eps_mnist", "mlp", "inception_bn", "mobilenet_v1")),
    *(("torchvision", {"name": name, **OFFLINE}) for name in TORCHVISION),
    *(("timm", {"name": name, "arguments": given, **OFFLINE}) for name, given in TIMM.items()),
    ("timm", {"name": "tf_efficientnet_lite0", "arguments": {"drop_rate": 0.5}, **OFFLINE}),
    ("efficientnet_lite0", OFFLINE),
]
NAMED = [pytest.param(*one, id=f"{one[0]}-{one[1].get('name', '')}") for one in NETWORKS]


def build(name, settings):
    """A backbone with random weights and statistics, none of which is 0 or 1."""
    if name in ("timm", "efficientnet_lite0"):
        pytest.importorskip("timm")
    torch.manual_seed(0)
    made = models.build(name, embedding_size=1, channels=3, image_size=PIXELS, **settings).backbone
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 1.5)
    for parameter in made.parameters():
        if parameter.ndim <= 1:
            nn.init.normal_(parameter, mean=1.0, std=0.1)
    return made.eval()


@pytest.fixture
def images():
    return torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(0))


@pytest.mark.filterwarnings("ignore:The default weight initialization of GoogleNet")
@pytest.mark.parametrize(("name", "settings"), NAMED)
def test_the_upper_blocks_go_on_where_the_lower_ones_end(name, settings, images):
    network = build(name, settings)
    blocks = models.blocks(network, SHAPE)
    assert len(set(blocks)) == len(blocks)
    trained = [block for block in blocks if any(True for _ in inside(network).get_submodule(block).parameters())]
    assert len(trained) >= 2
    with torch.no_grad():
        expected = network.eval()(images)
        assert expected.std() > 1e-3
        for block in {trained[0], trained[len(trained) // 2], trained[-1]}:
            divided = copy.deepcopy(network)
            activations = models.BeforeBlock(divided, block)(images)
            upper = FromBlock(divided, block, SHAPE).eval()
            torch.testing.assert_close(upper(activations), expected, rtol=1e-4, atol=1e-4)
            whole = {key: tuple(value.shape) for key, value in upper.backbone.state_dict().items()}
            assert whole == {key: tuple(value.shape) for key, value in network.state_dict().items()}


def frozen_below(network, lower):
    """A network whose named lower modules and parameters are fixed, and those modules in evaluation mode."""
    network = copy.deepcopy(network)
    for name, parameter in network.network.named_parameters():
        if any(f"{name}.".startswith(f"{part}.") for part in lower):
            parameter.requires_grad_(False)
    network.train()
    for part in lower:
        if part not in dict(network.network.named_parameters()):
            network.network.get_submodule(part).eval()
    return network


TOKENS = ["patch_embed", "pos_embed", "cls_token"]
TRAINED = {  # by family: arguments, the block, and what is below it
    "vit_tiny_patch16_224": (VIT, "blocks.1", [*TOKENS, "blocks.0"]),
    "vit_small_patch14_reg4_dinov2": (VIT, "blocks.2", [*TOKENS, "reg_token", "blocks.0", "blocks.1"]),
    "vit_tiny_patch16_384": ({**VIT, "global_pool": "avg"}, "blocks.1", [*TOKENS, "blocks.0"]),
    "deit_tiny_distilled_patch16_224": (VIT, "blocks.1", [*TOKENS, "dist_token", "blocks.0"]),
    "vit_small_patch16_dinov3": (VIT, "blocks.1", ["patch_embed", "cls_token", "reg_token", "blocks.0"]),
    "swin_tiny_patch4_window7_224": (
        *(SWIN, "layers.1.blocks.1"),
        ["patch_embed", "layers.0", "layers.1.downsample", "layers.1.blocks.0"],
    ),
    "convnext_atto": (TIMM["convnext_atto"], "stages.2", ["stem", "stages.0", "stages.1"]),
    "tf_efficientnetv2_b0": (
        *(TIMM["tf_efficientnetv2_b0"], "blocks.5.0"),
        ["conv_stem", "bn1", *(f"blocks.{stage}" for stage in range(5))],
    ),
    "pvt_v2_b0": (
        *(TIMM["pvt_v2_b0"], "stages.3.blocks.1"),
        ["patch_embed", "stages.0", "stages.1", "stages.2", "stages.3.downsample", "stages.3.blocks.0"],
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_steps_are_those_of_the_whole_network_with_fixed_lower_blocks(name):
    arguments, block, lower = TRAINED[name]
    whole = build("timm", {"name": name, "arguments": {**arguments, "drop_path_rate": 0.0}, **OFFLINE})
    images = torch.randn(64, *SHAPE, generator=torch.Generator().manual_seed(1))
    goal = torch.randn(64, whole.features, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        activations = models.BeforeBlock(whole, block)(images)
    upper = FromBlock(copy.deepcopy(whole), block, SHAPE)
    fixed = frozen_below(whole, lower)
    assert sum(p.numel() for p in upper.parameters() if p.requires_grad) == sum(
        p.numel() for p in fixed.parameters() if p.requires_grad
    )
    start = copy.deepcopy(upper.backbone.state_dict())
    losses = [[], []]
    for found, (network, rows) in zip(losses, ((upper, activations), (fixed, images)), strict=True):
        optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.01, momentum=0.9)
        for step in range(20):
            at = torch.arange(8) + 8 * (step % 8)
            optimizer.zero_grad()
            loss = (nn.functional.normalize(network(rows[at])) - goal[at]).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] != losses[0][7]
    ours, theirs = upper.backbone.state_dict(), fixed.state_dict()
    for key, value in theirs.items():
        torch.testing.assert_close(ours[key], value, rtol=1e-3, atol=1e-4)
    assert any(not torch.equal(ours[key], start[key]) for key in start)


def test_dropout_that_forward_computes_is_active_only_in_training():
    settings = {"name": "tf_efficientnet_lite0", "arguments": {"drop_rate": 0.5}, **OFFLINE}
    network, maps = FromBlock(build("timm", settings), "conv_head", SHAPE), torch.randn(2, 320, 2, 2)
    assert torch.equal(network.eval()(maps), network(maps))
    dropped = (network.train()(maps) == 0).float().mean()
    assert dropped > 0.4
    assert (network.eval()(maps) == 0).float().mean() < 0.9 * dropped


@pytest.mark.parametrize(("name", "settings"), NAMED)
def test_layers_are_what_their_blocks_get(name, settings):
    made, images = build(name, settings), torch.rand(2, *SHAPE)
    layers = models.Layers(made, SHAPE).eval()
    with torch.no_grad():
        parts = layers(images).split(list(layers.widths.values()), dim=1)
        torch.testing.assert_close(parts[0], nn.functional.normalize(made.eval()(images)))
        for layer, part in list(zip(layers.widths, parts, strict=True))[1:]:
            torch.testing.assert_close(part.norm(dim=1), torch.ones(2))
            if layer.startswith("before "):
                given = models.BeforeBlock(made, layer.removeprefix("before "))(images)
                means = [given.mean(axes) for axes in ([(1,)] if given.ndim == 3 else [(2, 3), (1, 2)])]
                means = [mean for mean in means if mean.shape == part.shape]
                assert any(torch.allclose(part, nn.functional.normalize(mean), atol=1e-5) for mean in means)
    assert sum(layers.widths.values()) == layers.features
    assert len(layers.widths) <= 5
