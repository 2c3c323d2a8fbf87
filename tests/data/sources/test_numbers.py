"""Two-digit numbers: which train, whose images they are made of, and how a digit is placed."""

import numpy as np
import pandas as pd
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_digits
from small_archives import Row, Small

from dml.data import splits
from dml.data.sources import Numbers
from dml.data.sources import bundled as module


def make(folder):
    rows = [Row(n, n // 10, role, role, None) for n, role in zip(range(100), train_or_test(), strict=True)]
    return Small({"per_class": 2, "clutter": 1}, [row for row in rows for _ in range(2)], channels=1)


def train_or_test():
    return Numbers().roles(pd.DataFrame({"fine": np.arange(100)})).tolist()


def drawn(**options):
    """uint8 (100, per_class, H, W)."""
    source = Numbers(**options)
    images = np.stack([record["image"] for record in source.images(None)])
    return images.reshape(100, source.per_class, *images.shape[1:])


def test_every_digit_is_in_both_places_on_both_sides():
    roles = np.array(train_or_test()).reshape(10, 10)
    assert np.sum(roles == "train") == 60
    for axis in (0, 1):
        np.testing.assert_array_equal(np.sum(roles == "train", axis=axis), 6)
        np.testing.assert_array_equal(np.sum(roles == "test", axis=axis), 4)


def test_training_and_test_pictures_are_made_of_different_images():
    bunch, halves = load_digits(), module._halves()
    for digit in range(10):
        train, test = halves["train"][digit], halves["test"][digit]
        assert abs(len(train) - len(test)) <= 1
        np.testing.assert_array_equal(np.concatenate([train, test]) * 16, bunch.images[bunch.target == digit])


def test_pictures_take_part_in_one_half_only(monkeypatch):
    """With the test half blank, test pictures are blank and training pictures are not."""
    halves = module._halves()
    halves["test"] = [np.zeros_like(images) for images in halves["test"]]
    monkeypatch.setattr(module, "_halves", lambda: halves)
    inked = drawn(per_class=2).any(axis=(1, 2, 3))
    assert inked.tolist() == [role == "train" for role in train_or_test()]


def test_apart_no_fold_tests_handwriting_that_it_trains_on(monkeypatch):
    """With the test half blank, only the test pictures of every fold are blank. Each number is tested once."""
    halves = module._halves()
    halves["test"] = [np.zeros_like(images) for images in halves["test"]]
    monkeypatch.setattr(module, "_halves", lambda: halves)
    source = Numbers(per_class=2, apart=True)
    records = pd.DataFrame(source.images(None))
    inked = np.array([image.any() for image in records["image"]])
    index = records[["fine", "coarse", "part"]].assign(index=np.arange(len(records)))
    tested = []
    for split in [splits.make(index, source), *splits.make_several(index, source, 4, folds=True)]:
        final = split["final"].to_numpy()
        assert inked[final == "train"].all()
        assert not inked[final == "test"].any()
        used = index[final != "unused"]
        assert used.groupby("fine").size().tolist() == [2] * 100
        tested.append(set(index["fine"][final == "test"]))
    assert len(tested[0]) == 40
    assert sorted(set.union(*tested[1:])) == list(range(100))


def test_apart_the_pictures_of_its_own_split_are_the_same():
    both = list(Numbers(per_class=2, apart=True).images(None))
    roles = Numbers(apart=True).roles(pd.DataFrame(both)[["fine", "part"]])
    own = np.stack([record["image"] for record, role in zip(both, roles, strict=True) if role != "unused"])
    np.testing.assert_array_equal(own.reshape(100, 2, 16, 24), drawn(per_class=2))
    assert len(both) == Numbers(per_class=2, apart=True).counts["all"]["images"]


def test_a_drawn_digit_is_scipys_interpolation():
    """Tens and units, each turned, scaled and moved as the generator says, by another library."""
    pictures = drawn(per_class=2, size=20)
    number, halves = 38, module._halves()  # 3 + 2 * 8 = 19: a test number
    draw = module.seeding.numpy_generator(0, "digits of 38")
    expected = np.zeros((2, 20, 30))
    down, across = np.meshgrid(np.arange(20) + 0.5, np.arange(30) + 0.5, indexing="ij")
    for digit, place in ((3, 0.275), (8, 0.725)):
        images = halves["test"][digit]
        chosen = images[draw.integers(len(images), size=2)]
        y, x = 20 * (0.5 + draw.uniform(-0.15, 0.15, 2)), 30 * (place + draw.uniform(-0.08, 0.08, 2))
        turns, sides = draw.uniform(-0.12, 0.12, 2), 20 * draw.uniform(0.62, 0.68, 2)
        for row in range(2):
            offset = np.stack([across - x[row], down - y[row]])  # (x, y)
            turn = np.array([[np.cos(turns[row]), np.sin(turns[row])], [-np.sin(turns[row]), np.cos(turns[row])]])
            at = np.einsum("ij,jhw->ihw", turn, offset) * 8 / sides[row] + 3.5
            image = map_coordinates(np.pad(chosen[row], 2), at[::-1] + 2, order=1)
            expected[row] = np.maximum(expected[row], image)
    np.testing.assert_allclose(pictures[number], 255 * expected, atol=0.51)
