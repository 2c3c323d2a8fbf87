"""From a spec to its parts: what one part decides for another, and what the study's settings decide."""

import json

import pytest
import torch

from dml.data import augment
from dml.training import build
from dml.training.data import open_data
from dml.training.loop import Training
from dml.types import BatchSpec

HALF = {"mean": [0.5] * 3, "std": [0.5] * 3}


def normalized(spec, data):
    """What white becomes in the trial's augmentation, and in the one that its saved model would have."""
    description = json.loads(json.dumps(build.describe_model(spec, data)))["augment"]
    side = 256 if spec.training.augment.startswith("crop") else 8
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
    """A timm network takes as many channels as the images have; for one channel the statistics are averaged."""
    package, network = backbone.split("/")
    if package == "timm":
        pytest.importorskip("timm")
    channels = {"augment_settings": {"channels": 1}} if package == "timm" else {}
    given = {"backbone": package, "backbone_settings": {"name": network}, "augment": name, **channels}
    got = normalized(make_spec(**given), open_data(make_spec(), data_root))
    assert got[0].item() == pytest.approx((1 - mean) / std, rel=1e-5)


def test_the_normalization_that_a_study_sets_has_priority(make_spec, data_root):
    data = open_data(make_spec(), data_root)
    given = {"backbone": "torchvision", "augment_settings": {"normalization": HALF}}
    assert normalized(make_spec(backbone_settings={}, **given), data).tolist() == [1.0] * 3


@pytest.mark.parametrize(("name", "white"), [("none", 1.0), ("omniglot80", (1 - 0.485) / 0.229)])
def test_without_pretrained_weights_each_augmentation_keeps_its_statistics(name, white, make_spec, data_root):
    data = open_data(make_spec(), data_root)
    bare = {"backbone": "torchvision", "backbone_settings": {"pretrained": False}}
    for backbone in ({}, bare):
        spec = make_spec(augment=name, augment_settings={"channels": 3}, **backbone)
        assert normalized(spec, data)[0].item() == pytest.approx(white, rel=1e-5)


def test_the_miner_takes_over_the_margin_and_distance_of_the_loss(make_spec):
    spec = make_spec("triplet", loss_settings={"margin": 0.05, "distance": "squared"})
    mine = build.build_miner(spec, build.build_loss(spec, 2, 8))
    assert (mine.negatives.margin, mine.distance) == (0.05, "squared")


def test_the_miners_own_settings_have_priority(make_spec):
    spec = make_spec("triplet", loss_settings={"margin": 0.05}, miner_settings={"margin": 0.3})
    assert build.build_miner(spec, build.build_loss(spec, 2, 8)).negatives.margin == 0.3


@pytest.mark.parametrize("loss", ["triplet", "trimmed"])
def test_a_loss_may_be_trained_without_normalization(make_spec, data_root, tmp_path, finish, loss):
    """The miner then compares the distances that the loss compares, or the one that it wraps."""
    settings = {"normalize": False} if loss == "triplet" else {"loss": {"name": "triplet", "normalize": False}}
    spec = make_spec(loss, loss_settings=settings, steps=4)
    training = finish(Training(spec, data_root, tmp_path))
    assert not getattr(training.loss, "loss", training.loss).normalize
    assert not build.build_miner(spec, training.loss).normalize
    assert training.result().counts == {}, "the bins are those of unit vectors"


def test_a_sampler_without_a_bound_leaves_the_miner_every_positive(make_spec, data_root):
    """A class can have more than `per_class` images in a `random` batch, and the nearest of them must be found."""
    spec = make_spec(batch=BatchSpec("random", classes=2, per_class=16))
    mine = build.build_miner(spec, build.build_loss(spec, 2, 8))
    labels = torch.tensor([0] * 28 + [1] * 4)
    mine(torch.randn(32, 8, generator=torch.Generator().manual_seed(0)), labels)
    assert int(mine.stats["cut_positives"]) == 0
