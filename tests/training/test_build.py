"""From a spec to its parts: what a backbone decides of the images it is given."""

import json

import pytest
import torch

from dml.data import augment
from dml.training import build
from dml.training.data import open_data

HALF = {"mean": [0.5] * 3, "std": [0.5] * 3}


def normalized(spec, data):
    """What white becomes, by the trial's augmentation and by the one that its saved model would have."""
    description = json.loads(json.dumps(build.describe_model(spec, data)))["augment"]
    side = 256 if spec.training["augment"].startswith("crop") else 8
    white = torch.full((1, 1, side, side), 255, dtype=torch.uint8)
    values = [
        make(white, False)[0, :, 0, 0] for make in (build.build_augment(spec, data), augment.build(**description))
    ]
    assert torch.equal(*values)
    return values[0]


@pytest.mark.parametrize("name", ["none", "crop224", "random_resized_crop", "omniglot80"])
@pytest.mark.parametrize(
    ("backbone", "mean", "std"),
    [("torchvision/resnet50", 0.485, 0.229), ("timm/inception_v3", 0.5, 0.5), ("timm/resnet50", 0.449, 0.226)],
)
def test_a_pretrained_backbone_decides_how_pixels_are_normalized(name, backbone, mean, std, make_spec, data_root):
    """timm's take as many channels as the images have: for one, the statistics are averaged."""
    package, network = backbone.split("/")
    if package == "timm":
        pytest.importorskip("timm")
    channels = {"augment_settings": {"channels": 1}} if package == "timm" else {}
    given = {"backbone": package, "backbone_settings": {"name": network}, "augment": name, **channels}
    got = normalized(make_spec(**given), open_data(make_spec(), data_root))
    assert got[0].item() == pytest.approx((1 - mean) / std, rel=1e-5)


def test_what_the_study_says_comes_first(make_spec, data_root):
    data = open_data(make_spec(), data_root)
    given = {"backbone": "torchvision", "augment_settings": {"normalization": HALF}}
    assert normalized(make_spec(backbone_settings={}, **given), data).tolist() == [1.0] * 3


@pytest.mark.parametrize(("name", "white"), [("none", 1.0), ("omniglot80", (1 - 0.485) / 0.229)])
def test_without_weights_each_augmentation_keeps_its_own(name, white, make_spec, data_root):
    data = open_data(make_spec(), data_root)
    bare = {"backbone": "torchvision", "backbone_settings": {"pretrained": False}}
    for backbone in ({}, bare):
        spec = make_spec(augment=name, augment_settings={"channels": 3}, **backbone)
        assert normalized(spec, data)[0].item() == pytest.approx(white, rel=1e-5)
