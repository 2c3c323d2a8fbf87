"""Networks side by side: each gets the pixels that it expects, and none counts more than another."""

import json

import torch
from safetensors.torch import save_file
from torch.nn.functional import normalize

from dml import models
from dml.config import load_study
from dml.sweep.plan import keys, specs
from dml.training.frozen.recipe import features_id, recipe

MOBILE = {"name": "mobilenet_v1", "settings": {"width": 0.25, "mean": [0.2, 0.3, 0.4], "std": 0.5}}
RESNET = {"name": "torchvision", "settings": {"name": "resnet18", "pretrained": False, "mean": 0.1, "std": 0.2}}
BOTH = {"backbones": [MOBILE, RESNET, "small_conv"]}


def network(**settings):
    torch.manual_seed(0)
    return models.build("side_by_side", embedding_size=4, image_size=32, **settings).eval()


def test_features_are_those_of_each_network_with_its_own_pixels():
    made, pixels = network(**BOTH), torch.rand(5, 3, 32, 32)
    first = models.find("side_by_side").statistics(**BOTH)
    assert first == {"mean": [0.2, 0.3, 0.4], "std": [0.5]}

    def normalized(mean, std):
        return (pixels - torch.tensor(mean).view(-1, 1, 1)) / std

    found = made.backbone(normalized([0.2, 0.3, 0.4], 0.5))
    inputs = [normalized([0.2, 0.3, 0.4], 0.5), normalized([0.1], 0.2), normalized([0.2, 0.3, 0.4], 0.5)]
    expected = [normalize(part(given)) for part, given in zip(made.backbone.networks, inputs, strict=True)]
    assert [part.shape[1] for part in expected] == [256, 512, 64]
    assert made.backbone.features == 832
    torch.testing.assert_close(found, torch.cat(expected, 1))
    cosines = torch.stack([part @ part.T for part in expected])
    torch.testing.assert_close(normalize(found) @ normalize(found).T, cosines.mean(0))


def test_what_decides_the_features_is_in_keys(tmp_path, monkeypatch):
    made = network(**BOTH)
    for name in ("a", "b"):
        save_file(made.backbone.networks[0].state_dict(), tmp_path / f"{name}.safetensors")
    with torch.no_grad():
        made.backbone.networks[0].conv_stem.weight.zero_()
    save_file(made.backbone.networks[0].state_dict(), tmp_path / "c.safetensors")

    def spec(*backbones):
        text = "title: Mine\ndatasets: [digits]\nlosses: [triplet]\nsearch: {sampler: fixed}\ntraining: "
        backbone = {"name": "side_by_side", "settings": {"backbones": list(backbones)}}
        (tmp_path / "mine.yaml").write_text(text + json.dumps({"frozen": True, "backbone": backbone}))
        study = load_study(tmp_path / "mine.yaml")
        return specs.build(study, study.cells()[0], "confirm", 0, {}, {"packed": "p", "split": "s", "labels": "l"})

    def mobile(file):
        return {"name": "mobilenet_v1", "settings": {"width": 0.25, "weights": str(tmp_path / f"{file}.safetensors")}}

    manifest = {"digest": "", "height": 32, "width": 32, "channels": 3}
    same = [spec(mobile("a"), "small_conv"), spec(mobile("b"), {"name": "small_conv", "settings": {"width": 16}})]
    other = [spec(mobile("c"), "small_conv"), spec("small_conv", mobile("a")), spec(mobile("a"), "pixels")]
    for of in (keys.key, lambda one: features_id(recipe(one.training, manifest))):
        assert of(same[0]) == of(same[1])
        assert len({of(one) for one in (same[0], *other)}) == 4
    found = keys.versions(same[0])
    assert {"models.side_by_side", "models.mobilenet_v1", "models.small_conv"} <= found.keys()
    monkeypatch.setattr(models.find("small_conv"), "version", 7)
    assert keys.versions(same[0])["models.small_conv"] == 7
    assert recipe(same[0].training, manifest)["versions"]["models.small_conv"] == 7
    monkeypatch.setattr(models.find("small_conv"), "packages", ("torchvision",))
    assert "torchvision" in keys.versions(same[0])
