"""A user's own folder of images, two levels deep, through the data stages: the outputs describe its contents."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml import noise
from dml.noise._labels import pixels
from dml.training.data import open_packed_of, split_of, training_rows

pytestmark = pytest.mark.slow

IMAGES = 6
STUDY = """\
title: Pets
datasets:
  - name: imagefolder
    id: pets
    settings: {root: photos}
    resize: 12
    train_on: fine
    evaluate_on: [fine, coarse]
noise:
  - {name: uniform, rates: [0.0, 0.5]}
losses: [triplet]
positives: [easy]
negatives: [random]
seeds: [0, 1]
search: {sampler: fixed, level: fine}
training: {backbone: mlp, steps: 2, batch: {classes: 2, per_class: 2}}
"""


def photograph(root, animals):
    shade = 0
    for coarse, kinds in animals.items():
        for fine in kinds:
            (root / coarse / fine).mkdir(parents=True)
            for number in range(IMAGES):
                shade += 3
                pixels = np.full((20 + number, 30, 3), shade, np.uint8)
                Image.fromarray(pixels).save(root / coarse / fine / f"{number}.png")


@pytest.fixture(scope="module")
def pets(shared_project):
    """A project whose photographs went through the data stages. The tests of this file share it, in their order."""
    animals = {"cat": ["manx", "tabby"], "dog": ["boxer", "collie", "pug", "spitz"]}
    photograph(shared_project.root / "photos", animals)
    shared_project.study("pets", STUDY)
    shared_project.stages("download pack split corrupt", "pets")
    return shared_project


def test_a_folder_of_two_levels_is_packed_split_and_corrupted(pets):
    root = pets.root / "data/pets"

    packed = open_packed_of(root, "pets")
    index = packed.index
    assert packed.images.shape == (6 * IMAGES, 12, 12, 3)
    shades = packed.images.reshape(len(index), -1)
    assert (shades.min(axis=1) == shades.max(axis=1)).all()
    assert shades[:, 0].tolist() == list(range(3, 3 + 3 * len(index), 3))
    names = ["cat/manx", "cat/tabby", "dog/boxer", "dog/collie", "dog/pug", "dog/spitz"]
    assert index["fine_name"].tolist() == [name for name in names for _ in range(IMAGES)]
    assert index["coarse_name"].tolist() == ["cat"] * 2 * IMAGES + ["dog"] * 4 * IMAGES
    assert index.groupby("coarse_name")["fine"].nunique().to_dict() == {"cat": 2, "dog": 4}
    assert index["height"].tolist() == [20 + n for _ in names for n in range(IMAGES)]

    split = pd.read_parquet(root / "split/pets.parquet")
    by_class = split.groupby(index["fine_name"])["final"].unique().map(list).to_dict()
    assert by_class == {name: ["train" if place < 3 else "test"] for place, name in enumerate(names)}
    halves = split[split["final"] == "train"].groupby(index["fine"])["tune"].unique()
    assert sorted(len(roles) for roles in halves) == [1, 1, 1]
    assert {role for roles in halves for role in roles} == {"train", "validation"}

    noise = pd.read_parquet(root / "noise/pets.parquet")
    training = split.loc[split["final"] == "train", "index"]
    confirm = noise[noise["phase"] == "confirm"]
    assert set(confirm["seed"]) == {0, 1}
    assert set(noise["index"]) <= set(training)
    for (rate, _), table in confirm.groupby(["rate", "seed"]):
        assert sorted(table["index"]) == sorted(training)
        true = index["fine"].to_numpy()[table["index"]]
        assert (table["observed"] != true).sum() == round(rate * len(table)) == table["flipped"].sum()


def test_noise_by_likeness_sees_the_images_as_the_noise_room_does(project):
    photograph(
        project.root / "photos", {"cat": ["lynx", "manx", "puma", "tabby"], "dog": ["boxer", "collie", "pug", "spitz"]}
    )
    generator = np.random.default_rng(0)
    for path in (project.root / "photos").rglob("*.png"):
        Image.fromarray(generator.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    entry = "{name: similarity, rates: [0.3, 0.5], settings: {neighbours: 1}}"
    project.study("pets", STUDY.replace("{name: uniform, rates: [0.0, 0.5]}", entry))
    project.stages("download pack split corrupt", "pets")
    root = project.root / "data/pets"
    packed, saved = open_packed_of(root, "pets"), pd.read_parquet(root / "noise/pets.parquet")
    models = [("similarity", rate, {"neighbours": 1}) for rate in (0.3, 0.5)]
    fine, rows = packed.index["fine"].to_numpy(), training_rows(root, "pets", "confirm")
    features = pixels(packed.images, rows)
    tune = noise.table(rows, fine[rows], models, [0], "tune", features=features)
    confirm = noise.table(rows, fine[rows], models, [0, 1], "confirm", features=features)
    halves = noise.halves(tune, split_of(root, "pets")["tune"].to_numpy(), fine)
    pd.testing.assert_frame_equal(saved, pd.concat([halves, confirm], ignore_index=True), check_dtype=False)
