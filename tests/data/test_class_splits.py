"""Class splits: which classes each of them tests, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from dml.data import sources, splits


class Made:
    """20 classes of 6 images; the first 12 train, with one held-out image each, and the others test."""

    name, disjoint = "made", "fine"

    def __init__(self, test=8, roles=("train", "seen", "test")):
        self._first, self._roles = 20 - test, roles

    def roles(self, index):
        train, seen, test = self._roles
        trains = index["fine"].to_numpy() < self._first
        return np.where(trains, np.where(index["index"] % 6 == 0, seen, train), test)


@pytest.fixture
def index():
    rows = np.arange(120)
    return pd.DataFrame({"index": rows, "fine": rows // 6, "coarse": rows // 60})


def of_test(split, index):
    return set(index["fine"][split["final"] == "test"])


def test_the_first_split_is_the_sources_and_no_class_is_tested_twice(index):
    own, second = splits.make_several(index, Made(), 2)
    pd.testing.assert_frame_equal(own, splits.make(index, Made()))
    assert len(of_test(second, index)) == 8
    assert not of_test(second, index) & of_test(own, index)
    trains = set(index["fine"][second["final"] == "train"])
    assert trains == set(range(20)) - of_test(second, index)
    fits, validates = (set(index["fine"][second["tune"] == role]) for role in ("train", "validation"))
    assert fits | validates == trains
    assert not fits & validates


def test_held_out_images_of_classes_that_train_stay_held_out(index):
    second = splits.make_several(index, Made(), 2)[1]
    seen = (second["final"] == "seen").to_numpy()
    assert set(index["fine"][seen]) == set(range(12)) - of_test(second, index)
    assert (index["index"][seen] % 6 == 0).all()


def test_folds_test_each_class_once(index):
    found = splits.make_several(index, Made(), 6, folds=True)
    counted = [fine for split in found for fine in of_test(split, index)]
    assert sorted(counted) == list(range(20))
    assert {len(of_test(split, index)) for split in found} == {3, 4}
    again = splits.make_several(index, Made(), 6, folds=True)
    assert all(one.equals(two) for one, two in zip(found, again, strict=True)), "deterministic"
    assert of_test(found[0], index) != set(range(4)), "dealt out at random, not in the classes' order"


def test_a_class_tests_other_images_than_it_trains_on():
    digit = np.arange(60) // 6
    part = np.where(np.arange(60) % 6 < 4, "train", "test")
    index = pd.DataFrame({"index": np.arange(60), "fine": digit, "coarse": digit % 2, "part": part})
    for split in splits.make_several(index, sources.build("mnist"), 5, folds=True):
        tests = np.isin(digit, sorted(of_test(split, index)))
        expected = np.where(part == "train", np.where(tests, "unused", "train"), np.where(tests, "test", "seen"))
        assert tests.sum() == 12
        assert split["final"].tolist() == expected.tolist()
