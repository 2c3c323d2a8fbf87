"""Folders of train and test images: how they are read, and what roles follow from their classes."""

import numpy as np
import pytest
from small_archives import read

from dml.data import DataError
from dml.data.packing import packed_id, packer
from dml.data.sources import Imagefolder
from dml.data.sources._splits import roles_of


def images(*folders, count=2):
    return [f"{folder}/{number}.png" for folder in folders for number in range(count)]


def test_test_folders_of_other_classes_test(written, tmp_path):
    root = written(*images("train/ant", "train/bee", "test/cat", "test/dog", "test/emu"))
    index, text = read(Imagefolder(root), tmp_path)
    assert index["fine_name"].tolist() == ["cat"] * 2 + ["dog"] * 2 + ["emu"] * 2 + ["ant"] * 2 + ["bee"] * 2
    assert index["fine"].tolist() == [2, 2, 3, 3, 4, 4, 0, 0, 1, 1]
    assert set(index["coarse"]) == {-1}
    assert index["role"].tolist() == ["test"] * 6 + ["train"] * 4
    assert index["path"][0] == "test/cat/0.png"
    assert "test/, train/ are read as splits; `settings: {layout: groups}` reads them as groups of classes" in text
    assert "2 classes train; test has 3 other classes: its scores are `test`" in text


@pytest.mark.parametrize("name", ["test", "val", "valid", "validation"])
def test_test_folders_of_the_classes_that_train_are_seen(name, written, tmp_path):
    root = written(*images("train/ant", "train/bee", f"{name}/ant", f"{name}/bee"))
    index, text = read(Imagefolder(root), tmp_path)
    assert index.groupby("role")["fine"].unique().map(list).to_dict() == {"seen": [0, 1], "train": [0, 1]}
    assert f"{name} has 2 of these classes: its scores are `seen`, not `test`" in text


def test_in_between_is_refused_by_name(written, tmp_path):
    root = written(*images("train/ant", "train/bee", "train/cow", "test/bee", "test/cow", "test/dog"))
    with pytest.raises(DataError) as raised:
        read(Imagefolder(root), tmp_path)
    assert "some classes of test train and others do not: 2 (bee, cow) are in train too, 1 (dog) are not" in str(
        raised.value
    )
    assert "remove" in str(raised.value)


def test_a_validation_folder_beside_a_test_folder(written, tmp_path):
    """It is `seen` where only its classes train; otherwise tuning has its own validation classes."""
    root = written(*images("train/ant", "train/bee", "val/ant", "test/cat"))
    index, _ = read(Imagefolder(root), tmp_path)
    assert index.groupby("part")["role"].first().to_dict() == {"test/": "test", "train/": "train", "val/": "seen"}
    for val, test in (("ant", "bee"), ("dog", "cat")):
        parts = np.array(["train", "train", "val", "test"])
        names = np.array(["ant", "bee", val, test])
        found = roles_of(parts, np.unique(names, return_inverse=True)[1], names, "x")
        assert found.roles.tolist() == ["train", "train", "unused", "seen" if test == "bee" else "test"]
        assert "val is not used (tuning validates on half of the training classes)" in found.text


def test_queries_and_gallery(written, tmp_path):
    root = written(*images("train/ant", "train/bee", "query/cat", "gallery/cat", "gallery/dog"))
    index, _ = read(Imagefolder(root), tmp_path)
    roles = index.groupby("part")["role"].first().to_dict()
    assert roles == {"train/": "train", "query/": "query", "gallery/": "gallery"}
    for paths, expected in (
        (images("train/ant", "query/cat"), "query and gallery go together: found only query, train"),
        (images("train/ant", "query/ant", "gallery/ant"), "the classes of query train: 1 .ant."),
    ):
        parts, names = zip(*(path.split("/")[:2] for path in paths), strict=True)
        with pytest.raises(DataError, match=expected):
            roles_of(np.array(parts), np.unique(names, return_inverse=True)[1], np.array(names), "x")


def test_groups_of_classes_within_splits(written, tmp_path):
    root = written(*images("Train/pets/ant", "Train/pets/bee", "Test/wild/ant", "Test/wild/cat"))
    index, _ = read(Imagefolder(root), tmp_path)
    assert index["fine_name"].unique().tolist() == ["wild/ant", "wild/cat", "pets/ant", "pets/bee"]
    assert index.groupby("coarse_name")["role"].first().to_dict() == {"pets": "train", "wild": "test"}
    same = Imagefolder(root, disjoint="coarse")
    assert same.roles(index).tolist() == index["role"].tolist()


def test_the_layout_can_be_chosen(written, tmp_path):
    root = written(*images("train/ant", "train/bee", "test/cat", "test/dog"))
    index, text = read(Imagefolder(root, layout="groups"), tmp_path)
    assert index["coarse_name"].unique().tolist() == ["test", "train"]
    assert "splits" not in text
    with pytest.raises(DataError, match=r"expected <class>/<image> throughout, found train/"):
        list(Imagefolder(root, layout="classes").images(tmp_path))
    kinds = {layout: packed_id(Imagefolder(root, layout=layout)) for layout in ("auto", "splits", "groups")}
    assert kinds["auto"] == kinds["splits"] != kinds["groups"]
    with pytest.raises(ValueError, match=r"layout: expected one of auto, splits, classes, groups"):
        Imagefolder(root, layout="split")
    with pytest.raises(ValueError, match="layout: 'splits' is about folders, and the option table"):
        Imagefolder(root, table="t.csv", layout="splits")


def test_the_id_of_other_layouts_is_that_of_before_there_were_layouts(monkeypatch):
    monkeypatch.setattr(packer, "version", 1)
    assert packed_id(Imagefolder("birds"), 64) == "imagefolder-64-b83be594"
