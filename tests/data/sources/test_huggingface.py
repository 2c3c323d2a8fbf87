"""Datasets of the library `datasets`, on disk in each of its forms: columns, splits, and what is wrong with them."""

import io

import pandas as pd
import pytest
from PIL import Image
from small_archives import Row, Small, quiet, read

from dml.data import DataError
from dml.data.sources import Huggingface

CLASSES = ["ant", "bee", "cat", "dog", "emu"]


def table(*classes, count=2, image="image", label="label", **others):
    """A split with `count` images of each class, of one grey value each."""
    datasets = pytest.importorskip("datasets")
    numbers = [CLASSES.index(name) for name in classes for _ in range(count)]
    content = {
        image: [Image.new("RGB", (8, 8), (30 * number + row % count,) * 3) for row, number in enumerate(numbers)],
        label: numbers,
        **others,
    }
    features = {image: datasets.Image(), label: datasets.ClassLabel(names=CLASSES)}
    features |= {name: datasets.Value(type(values[0]).__name__.replace("str", "string").replace("int", "int64"))
                 for name, values in others.items()}  # fmt: skip
    return datasets.Dataset.from_dict(content, features=datasets.Features(features))


def make(folder):
    """Splits of other classes, saved with `save_to_disk`."""
    datasets = pytest.importorskip("datasets")
    parts = {"train": table("ant", "bee"), "test": table("cat", "dog")}
    datasets.DatasetDict(parts).save_to_disk(str(folder / "saved"))
    rows = [Row(n // 2, -1, "train", "train", 30 * (n // 2) + n % 2) for n in range(4)]
    rows += [Row(2 + n // 2, -1, "test", "test", 60 + 30 * (n // 2) + n % 2) for n in range(4)]
    return Small({"path": str(folder / "saved")}, rows)


def save(parts, path, form):
    datasets = pytest.importorskip("datasets")
    if form == "save_to_disk":
        datasets.DatasetDict(parts).save_to_disk(str(path))
        return
    path.mkdir(parents=True)
    for name, part in parts.items():
        part.to_parquet(path / f"{name}-00000-of-00001.parquet")


@pytest.mark.parametrize("form", ["save_to_disk", "parquet"])
def test_splits_of_the_same_classes_are_seen(form, tmp_path):
    save({"train": table("ant", "bee", "cat"), "validation": table("ant", "cat")}, tmp_path / "own", form)
    index, text = read(Huggingface(str(tmp_path / "own")), tmp_path)
    assert index["part"].tolist() == ["train"] * 6 + ["validation"] * 4
    assert index["role"].tolist() == ["train"] * 6 + ["seen"] * 4
    assert index["fine_name"].tolist() == ["ant"] * 2 + ["bee"] * 2 + ["cat"] * 2 + ["ant"] * 2 + ["cat"] * 2
    assert index["grey"].tolist() == [0, 1, 30, 31, 60, 61, 0, 1, 60, 61]
    assert "column 'image' is taken for the images" in text
    assert "column 'label' is taken for the labels" in text
    assert "validation has 2 of these classes: its scores are `seen`, not `test`" in text


def test_one_split_is_split_by_classes(tmp_path):
    table("ant", "bee", "cat", "dog").save_to_disk(str(tmp_path / "own"))
    index, _ = read(Huggingface(str(tmp_path / "own")), tmp_path)
    assert index["role"].tolist() == ["train"] * 4 + ["test"] * 4
    save({"train": table("ant", "bee", "cat", "emu"), "extra": table("dog")}, tmp_path / "two", "save_to_disk")
    with pytest.raises(DataError, match="splits: unknown extra; found extra, train"):
        Huggingface(str(tmp_path / "two")).download(tmp_path / "raw", quiet)
    source = Huggingface(str(tmp_path / "two"), splits=["train"], test_share=0.25)
    source.download(tmp_path / "raw", quiet)
    index, _ = read(source, tmp_path / "second")
    assert index["role"].tolist() == ["train"] * 6 + ["test"] * 2
    with pytest.raises(DataError, match=r"no split 'tran'\. Choices: train, extra"):
        Huggingface(str(tmp_path / "two"), splits=["tran"]).download(tmp_path / "raw", quiet)


def test_columns_by_name_and_coarse_labels(tmp_path):
    part = table("ant", "bee", "cat", "dog", image="photo", label="kind", group=list("wwxxyyzz"), number=[*range(8)])
    part.save_to_disk(str(tmp_path / "own"))
    index, text = read(Huggingface(str(tmp_path / "own"), label="kind", coarse="group", disjoint="coarse"), tmp_path)
    assert index["coarse_name"].tolist() == list("wwxxyyzz")
    assert index["role"].tolist() == ["train"] * 4 + ["test"] * 4
    assert "column 'photo' is taken for the images" in text
    assert "for the labels" not in text
    index, _ = read(Huggingface(str(tmp_path / "own"), label="number"), tmp_path / "numbers")
    assert index["fine"].tolist() == list(range(8))
    with pytest.raises(DataError, match=r"label: no column 'knd'; did you mean 'kind'\? Choices: photo, kind, group"):
        Huggingface(str(tmp_path / "own"), label="knd").download(tmp_path, quiet)


def write(folder, *names):
    """Parquet files of two images each, each called as its own class."""
    for number, name in enumerate(names):
        content = io.BytesIO()
        Image.new("RGB", (8, 8), (number,) * 3).save(content, "png")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"image": [{"bytes": content.getvalue()}] * 2, "label": [number] * 2}).to_parquet(folder / name)
    return Huggingface(str(folder))


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["train-00000.parquet", "train-00001.parquet", "val.parquet"], {"train": 4, "validation": 2}),
        (["x/train/0.parquet", "y/test.parquet"], {"train": 2, "test": 2}),
        (["a.parquet", "b/C.PARQUET"], {"train": 4}),
    ],
)
def test_all_files_of_a_folder_are_read(names, parts, tmp_path):
    pytest.importorskip("datasets")
    source = write(tmp_path / "own", *names)
    assert {name: len(part) for name, part in source._load(tmp_path / "raw").items()} == parts


def test_a_changed_file_is_noticed(tmp_path):
    table("ant", "bee").save_to_disk(str(tmp_path / "own"))
    source = Huggingface(str(tmp_path / "own"))
    before = source.fingerprint(tmp_path)
    assert source.fingerprint(tmp_path) == before
    (tmp_path / "own/state.json").write_text((tmp_path / "own/state.json").read_text() + " ")
    assert source.fingerprint(tmp_path) != before
    assert Huggingface("owner/birds").fingerprint(tmp_path) is None


def test_a_dataset_of_the_hub_is_asked_for_by_name(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    asked = []

    def load_dataset(path, name, revision, cache_dir):
        asked.append((path, name, revision, cache_dir))
        return datasets.DatasetDict({"train": table("ant", "bee"), "test": table("cat", "dog")})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    source = Huggingface("owner/birds", config="small", revision="abc")
    source.download(tmp_path, quiet)
    assert asked == [("owner/birds", "small", "abc", str(tmp_path / "cache"))]
