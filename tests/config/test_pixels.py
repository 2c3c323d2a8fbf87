"""`resize: network`: the pixels that a study's networks were trained for, as if they were written out."""

import pytest
import yaml

from dml.config import load_study, study_from
from dml.data import sources
from dml.data.packing import packed_id
from dml.pipeline import resolve
from dml.sweep.plan import keys, specs

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}
CROPS = "random_resized_crop"


def study(resize, training, **others):
    datasets = [{"name": "digits", "resize": resize}]
    losses = ["triplet"]
    search = {"sampler": "fixed"}
    content = {"title": "t", "datasets": datasets, "losses": losses, "search": search, "training": training, **others}
    return study_from(content, "s")


def identity(found):
    """What decides that nothing is packed or trained again."""
    (dataset,), cell = found.datasets, found.cells()[0]
    packed = packed_id(sources.build("digits"), **dataset.packing)
    return packed, found.digest, keys.key(specs.build(found, cell, "confirm", 0, {}, DIGESTS))


@pytest.mark.parametrize(
    ("backbone", "number"),
    [
        ({"name": "torchvision", "settings": {"name": "mobilenet_v2"}}, 224),
        ({"name": "torchvision", "settings": {"name": "inception_v3"}}, 299),
        ("efficientnet_lite1", {"side": 240, "interpolation": "bicubic"}),
    ],
)
@pytest.mark.parametrize("augment", ["none", CROPS])
def test_it_is_the_number_written_out(backbone, number, augment):
    training = {"backbone": backbone, "augment": augment}
    assert identity(study("network", training)) == identity(study(number, training))


def test_an_interpolation_that_is_todays_changes_no_name():
    source = sources.build("digits")
    network = {"backbone": {"name": "torchvision", "settings": {"name": "mobilenet_v2"}}}
    (dataset,) = study({"side": 224, "interpolation": "bilinear"}, network).datasets
    assert dataset.packing == {"resize": 224, "on_corrupt": "error"}
    names = {packed_id(source, resize=how) for how in (224, {"side": 224, "interpolation": "bicubic"}, 160)}
    assert len(names) == 3


def test_random_crops_have_the_size_of_the_packed_images():
    training = {"backbone": "efficientnet_lite1", "augment": {"name": CROPS, "settings": {"scale": [0.5, 1.0]}}}
    found = study("network", training)
    assert found.training_of(found.cells()[0]).augment_settings == {"scale": [0.5, 1.0], "image_size": 240}
    training["augment"]["settings"]["image_size"] = 96
    found = study("network", training)
    assert found.training_of(found.cells()[0]).augment_settings["image_size"] == 96
    found = study(64, {"backbone": "small_conv"})
    assert found.training_of(found.cells()[0]).augment_settings == {}


def test_dvc_sees_the_numbers(tmp_path, monkeypatch):
    """Else another network would not pack again: the stage `pack` depends on the file of datasets."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pipelines/studies/s.yaml"
    path.parent.mkdir(parents=True)
    text = "title: t\ndatasets: [digits, {name: digits, id: d, resize: network}]\nlosses: [triplet]\n"
    path.write_text(text + "training: {backbone: efficientnet_lite0}\n")
    resolve.run(load_study(path))
    found = yaml.safe_load((tmp_path / "data/s/datasets.yaml").read_text())
    assert found == ["digits", {"name": "digits", "id": "d", "resize": {"side": 224, "interpolation": "bicubic"}}]
    assert yaml.safe_load((tmp_path / "data/s/study.yaml").read_text())["datasets"] == found
