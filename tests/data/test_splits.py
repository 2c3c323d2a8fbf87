"""Splits: the papers' counts, disjoint classes, and splits that never change."""

import hashlib
import shutil

import numpy as np
import pandas as pd
import pytest

from dml.data import splits
from dml.data.sources._files import SourceDefaults
from dml.own_files import tidy


class FirstClassesTrain(SourceDefaults):
    """Classes below `limit` train; of them, every tenth image is `seen`."""

    version, name = 1, "first"

    def __init__(self, limit, column="fine"):
        self.limit, self.column = limit, column

    def roles(self, index):
        known = index[self.column] < self.limit
        return np.select([known & (index["index"] % 10 == 9), known], ["seen", "train"], "test")


class Alphabets(FirstClassesTrain):
    disjoint = "coarse"


def make_index(fine, coarse=None):
    fine = np.asarray(fine)
    coarse = fine if coarse is None else np.asarray(coarse)
    return pd.DataFrame({"index": np.arange(len(fine)), "fine": fine, "coarse": coarse})


def random_index(seed):
    generator = np.random.default_rng(seed)
    classes = int(generator.integers(4, 40))
    coarse_of = np.sort(generator.integers(0, max(1, classes // 3), size=classes))
    fine = np.concatenate([np.arange(classes), generator.integers(0, classes, size=300)])
    return make_index(fine, coarse_of[fine]), classes


def classes_by(split, index, column, level="fine"):
    return {role: set(index[level][split[column] == role]) for role in split[column].unique()}


@pytest.mark.parametrize("seed", range(30))
def test_classes_are_disjoint_and_nothing_is_lost(seed):
    index, classes = random_index(seed)
    split = splits.make(index, FirstClassesTrain(classes // 2 + 1))
    assert split["index"].tolist() == index["index"].tolist()
    final = classes_by(split, index, "final")
    assert not final["train"] & final["test"]
    assert final["seen"] <= final["train"]
    tune = classes_by(split, index, "tune")
    assert not tune["train"] & tune["validation"]
    assert tune["train"] | tune["validation"] == final["train"]
    assert abs(len(tune["train"]) - len(tune["validation"])) <= 1
    train = split["final"] == "train"
    assert ((split["tune"] != "unused") == train).all()
    assert list(split.columns) == list(splits.COLUMNS)


def test_halves_alternate_where_one_would_lack_a_coarse_class():
    index = make_index(np.repeat(np.arange(12), 3), np.repeat(np.arange(12) // 3, 3))
    split = splits.make(index, FirstClassesTrain(12))
    coarse = classes_by(split, index, "tune", "coarse")
    assert coarse["train"] == coarse["validation"] == {0, 1, 2, 3}
    assert classes_by(split, index, "tune")["train"] == {0, 2, 4, 6, 8, 10}


def test_coarse_classes_stay_whole_if_the_source_says_so():
    index = make_index(np.repeat(np.arange(30), 4), np.repeat(np.arange(30) // 5, 4))
    coarse = classes_by(splits.make(index, Alphabets(4, "coarse")), index, "tune", "coarse")
    assert coarse["train"] == {0, 1}
    assert coarse["validation"] == {2, 3}
    coarse = classes_by(splits.make(index, FirstClassesTrain(4, "coarse")), index, "tune", "coarse")
    assert coarse["train"] == coarse["validation"] == {0, 1, 2, 3}


def test_what_is_saved_is_loaded_and_is_the_same_file_each_time(tmp_path):
    index, classes = random_index(0)
    split = splits.make(index, FirstClassesTrain(classes // 2 + 1))
    splits.save(split, tmp_path / "deep" / "split.parquet")
    splits.save(split, tmp_path / "again.parquet")
    loaded = splits.load(tmp_path / "deep" / "split.parquet")
    pd.testing.assert_frame_equal(loaded, split, check_dtype=False)
    assert loaded["index"].dtype == np.int64
    assert (tmp_path / "deep" / "split.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["split.parquet"]


def test_the_rule_is_frozen():
    """A change of this digest changes the splits of saved results."""
    index = make_index(np.repeat(np.arange(20), 5), np.repeat(np.arange(20) // 2, 5))
    split = splits.make(index, FirstClassesTrain(15))
    text = split.to_csv(index=False).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == "026ea6f632912545"


@pytest.mark.parametrize(
    ("fine", "roles", "message"),
    [
        ([0, 0, 1, 1], ["train", "train", "tset", "test"], r"unknown \['tset'\]. Choices: train"),
        ([0, 0, 1, 1], ["train", "train", "train", "test"], r"1 classes both train and test, among them \[1\]"),
        ([0, 0, 1, 2], ["train", "train", "train", "seen"], r"1 seen classes have no training image, among them \[2\]"),
        (
            [0, 0, 1, 2],
            ["train", "train", "test", "test"],
            r"fixed: 3 classes \(level 'fine'\), of which 1 can train: .* 2 training classes",
        ),
        ([0, -1, 1, 2], ["train", "train", "train", "test"], "negative label cannot train"),
        ([0, 0, 1, 2], ["train", "train"], "expected 4, one per row"),
    ],
)
def test_roles_that_cannot_be_are_errors(fine, roles, message):
    class Fixed(SourceDefaults):
        name = "fixed"

        def roles(self, index):
            return np.array(roles)

    with pytest.raises(ValueError, match=message):
        splits.make(make_index(fine), Fixed())


class ShiftedBySeed(FirstClassesTrain):
    """A source whose seeds 1 and 2 select how many classes train."""

    seeds = (1, 2)

    def for_seed(self, seed):
        return FirstClassesTrain(self.limit + seed)


def test_seeds_select_the_split_where_a_source_has_several(tmp_path):
    tmp_path /= "split"
    index = make_index(np.repeat(np.arange(8), 5))
    found = splits.by_seed(index, ShiftedBySeed(3))
    assert list(found) == [1, 2]
    for seed, split in found.items():
        pd.testing.assert_frame_equal(split, splits.make(index, FirstClassesTrain(3 + seed)))
    splits.save_all(found, tmp_path, "mine")
    for seed, split in found.items():
        pd.testing.assert_frame_equal(splits.load(splits.file_of(tmp_path, "mine", seed)), split)
    with pytest.raises(ValueError, match=r"'mine': seeds select its split, and 3 selects none\. Choices: 1, 2"):
        splits.file_of(tmp_path, "mine", 3)

    (alone,) = (same := splits.by_seed(index, FirstClassesTrain(3))).values()
    tidy(tmp_path, splits.save_all(same, tmp_path, "mine"))
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["mine.parquet"], "splits of other options are deleted"
    assert splits.file_of(tmp_path, "mine", 0) == splits.file_of(tmp_path, "mine", None) == tmp_path / "mine.parquet"
    pd.testing.assert_frame_equal(splits.load(tmp_path / "mine.parquet"), alone)
    shutil.copy(tmp_path / "mine.parquet", tmp_path / "copy-of-mine.parquet")
    tidy(tmp_path, splits.save_all(found, tmp_path, "mine"))
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["copy-of-mine.parquet", "mine"]


def split_of(final, tune="", **columns):
    roles = {"t": "train", "e": "test", "s": "seen", "q": "query", "g": "gallery", "u": "unused", "v": "validation"}
    table = {"index": range(len(final)), "final": [roles[sign] for sign in final]}
    table["tune"] = [roles[sign] for sign in tune or "u" * len(final)]
    return pd.DataFrame(table | {name: [roles[sign] for sign in signs] for name, signs in columns.items()})


@pytest.mark.parametrize(
    ("split", "copies", "text"),
    [
        (split_of("ttee"), [[0, 1], [2, 3]], ""),
        (split_of("tete"), [[0, 1], [2, 3]], "2 in both train and test (1 of them with different labels)"),
        (split_of("tstu"), [[0, 1, 3]], "1 in both train and seen"),
        (split_of("ttqg"), [[1, 2, 3]], "1 in both train and query (1 of them with different labels), 1 in both train"),
        (split_of("tttt", "ttvv"), [[1, 2]], "1 in both train and validation (1 of them with different labels)"),
        (split_of("ueue", final_given="tuuu"), [[0, 1]], "1 in both train and test"),
        (split_of("tete")[::-1], [[0, 1]], "1 in both train and test"),
    ],
)
def test_identical_images_on_both_sides_are_counted(split, copies, text):
    said = splits.crossing(copies, split, np.array([0, 0, 1, 2]))
    assert (said == "") == (text == "")
    assert said.startswith(f"identical images: {text}" if text else "")
