"""A user's own labels: read by index, and checked."""

import numpy as np
import pandas as pd
import pytest

from dml import noise

INDEX = np.array([4, 2, 9, 7])
LABELS = np.array([0, 1, 1, 2])


def write(tmp_path, rows, suffix="csv"):
    path = tmp_path / f"labels.{suffix}"
    table = pd.DataFrame(rows, columns=["index", "label"])
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    return path


GOOD = [(0, 5), (2, 2), (4, 0), (7, 2), (9, -1)]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_labels_are_found_by_index(tmp_path, suffix):
    model = noise.build("label_file", path=str(write(tmp_path, GOOD, suffix)))
    observed, flipped = model.corrupt(LABELS, seed=0, index=INDEX)
    assert observed.tolist() == [0, 2, -1, 2]
    assert flipped.tolist() == [False, True, False, False]
    table = noise.table(INDEX, LABELS, [("label_file", 0.0, {"path": str(write(tmp_path, GOOD))})], [0, 1], "confirm")
    assert table["observed"].tolist() == [0, 2, -1, 2] * 2


def test_the_rate_is_checked(tmp_path):
    path = write(tmp_path, GOOD)
    noise.build("label_file", path=path, rate=0.333).corrupt(LABELS, 0, index=INDEX)
    with pytest.raises(ValueError, match=r"0.3333 of the labels are wrong, the rate says 0.2"):
        noise.build("label_file", path=path, rate=0.2).corrupt(LABELS, 0, index=INDEX)
    noise.build("label_file", path=path, rate=0.2).corrupt(LABELS, 0, index=INDEX, phase="tune")


def test_a_class_that_the_tune_phase_does_not_see_is_left_out(tmp_path):
    path = write(tmp_path, [(0, 0), (1, 1), (2, 7)])
    model = noise.build("label_file", path=path)
    assert model.corrupt(np.array([0, 1, 1]), 0, phase="tune").observed.tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match=r"not training classes: \[7\]"):
        model.corrupt(np.array([0, 1, 1]), 0)


def test_rows_that_moved_are_an_error(tmp_path):
    """Two images were deleted since the file was written."""
    path, was = tmp_path / "labels.csv", np.array(["a.png", "b.png", "c.png", "d.png"])
    pd.DataFrame({"index": range(4), "label": [0, 1, 1, 0], "path": was}).to_csv(path, index=False)
    model = noise.build("label_file", path=path)
    assert model.corrupt(np.array([1, 0]), 0, index=np.array([1, 3]), paths=was[[1, 3]]).observed.tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"row 0 was a.png and is c.png now"):
        model.corrupt(np.array([1, 0]), 0, paths=was[2:])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (GOOD[1:-1], r"1 of 4 training images have no label, among them \[9\]"),
        ([*GOOD, (9, 1)], "index: 9 occurs twice"),
        ([*GOOD, (10, -2)], "row 7: label is .*-2.*, expected an integer of at least -1"),
        ([*GOOD, (-1, 1)], "row 7: index is .*-1.*, expected an integer of at least 0"),
        ([*GOOD, (10, None)], "row 7: label is '', expected an integer"),
        ([*GOOD, (10, 1.5)], "row 7: label is '1.5', expected an integer"),
    ],
)
def test_bad_files(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        noise.build("label_file", path=write(tmp_path, rows)).corrupt(LABELS, 0, index=INDEX)
