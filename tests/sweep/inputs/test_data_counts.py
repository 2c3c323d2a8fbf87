"""Counts of a study's images and classes are those of what was packed and split."""

import json

import numpy as np
import pytest
from PIL import Image

from dml.data import sources, splits
from dml.data.packing import open_packed, pack
from dml.sweep.inputs.checking import data_counts


@pytest.fixture
def data_root(tmp_path):
    """Two groups of three classes of 2, 3, ... images, and two files that are no images. The first group trains."""
    for number in range(6):
        folder = tmp_path / f"photos/group{number // 3}/kind{number}"
        folder.mkdir(parents=True)
        for image in range(2 + number):
            Image.fromarray(np.full((8, 8), 30 * number + image, np.uint8)).save(folder / f"{image}.png")
    for name in ("group0/kind0/bad.png", "group1/kind3/bad.png"):
        (tmp_path / "photos" / name).write_bytes(b"no image")
    source = sources.build("imagefolder", root=str(tmp_path / "photos"))
    manifest = pack(source, tmp_path, tmp_path / "packed", on_corrupt="skip", report=lambda line: None)
    (tmp_path / "pack.json").write_text(json.dumps({"imagefolder": {**manifest, "folder": "packed"}}))
    splits.save(splits.make(open_packed(tmp_path / "packed").index, source), tmp_path / "split/imagefolder.parquet")
    return tmp_path


TEST = {"images": 5 + 6 + 7, "classes": 3}


@pytest.mark.parametrize(
    ("train_on", "protocol", "roles"),
    [
        ("fine", "refit", {"train": {"images": 2 + 3 + 4, "classes": 3}, "test": TEST}),
        ("coarse", "refit", {"train": {"images": 9, "classes": 1}, "test": {"images": 18, "classes": 1}}),
        (
            "fine",
            "train_val_test",
            {"train": {"images": 2 + 3, "classes": 2}, "validation": {"images": 4, "classes": 1}, "test": TEST},
        ),
    ],
)
def test_counts(train_on, protocol, roles, data_root, toy_study):
    dataset = {"name": "imagefolder", "settings": {"root": "photos"}, "train_on": train_on}
    study = toy_study(datasets=[dataset])
    study = study.model_copy(update={"search": study.search.model_copy(update={"protocol": protocol})})
    assert data_counts(study, data_root) == {"imagefolder": {"skipped": 2, "roles": roles}}
