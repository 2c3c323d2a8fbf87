"""The number of features is the width of what a network gives, of whatever class, pooling, channels and size it is."""

import pytest
import torch

from dml import models

timm = pytest.importorskip("timm")

# Those on the left say another `num_features` than the width of their output.
TIMM = [
    *("mobilenetv3_small_050", "mobilenetv4_conv_small_035", "lcnet_035", "ghostnet_050", "efficientvit_b0"),
    *("repghostnet_050", "fasternet_t0", "inception_next_atto", "mambaout_femto", "efficientvit_m0"),
    *("test_vit", "test_convnext", "test_efficientnet", "resnet10t"),
]


def check(network, channels, side, device="cpu"):
    """A network's features have the stated width, which its head takes."""
    images = torch.randn(2, channels, side, side, device=device)
    assert network.eval().backbone(images).shape == (2, network.backbone.features)
    assert network(images).shape == (2, 4)


@pytest.mark.parametrize("name", TIMM)
def test_of_timms_networks(name):
    check(models.build("timm", embedding_size=4, image_size=224, name=name, pretrained=False), 3, 224)


@pytest.mark.parametrize("pooling", ["catavgmax", "avgmax", "max"])
@pytest.mark.parametrize(("name", "channels", "side"), [("resnet10t", 1, 32), ("mobilenetv3_small_050", 3, 50)])
def test_of_another_pooling_of_timm(name, channels, side, pooling):
    settings = {"name": name, "pretrained": False, "arguments": {"global_pool": pooling}}
    check(models.build("timm", embedding_size=4, channels=channels, image_size=side, **settings), channels, side)


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "alexnet", "vgg11", "squeezenet1_1", "swin_t", "maxvit_t"])
def test_of_torchvisions_networks(name):
    with torch.device("meta"):
        network = models.build("torchvision", embedding_size=4, image_size=224, name=name, pretrained=False)
    check(network, 3, 224, "meta")


@pytest.mark.parametrize(
    ("backbone", "settings", "side", "message"),
    [
        ("timm", {"name": "test_vit"}, 30, "test_vit.* no images of 30 x 30 pixels.* divisible by patch size"),
        ("timm", {"name": "vit_tiny_patch16_224", "arguments": {"img_size": 64}}, 48, " no images of 48 x 48.*64"),
        ("timm", {"name": "efficientformer_l1"}, 128, "efficientformer_l1.* no images of 128 x 128 pixels"),
        ("torchvision", {"name": "inception_v3"}, 32, "inception_v3.* no images of 32 x 32 pixels"),
        ("timm", {"name": "resnet10t", "arguments": {"global_pool": ""}}, 64, r"\(N, features\).*\(1, 512, 2, 2\)"),
        ("timm", {"name": "test_vit", "arguments": {"global_pool": ""}}, 160, r"\(N, features\).*\(1, 101, 64\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:The default weight initialization:FutureWarning")
def test_what_a_network_cannot_take_is_said_when_it_is_built(backbone, settings, side, message):
    with pytest.raises(ValueError, match=f"backbone '{backbone}'.*{message}"):
        models.build(backbone, embedding_size=4, image_size=side, pretrained=False, **settings)
