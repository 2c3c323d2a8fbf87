"""A user's own images in a table: its columns, its labels, its rows, and what is wrong with them."""

import re

import pandas as pd
import pytest
from small_archives import packed_of

from dml.data import DataError
from dml.data.sources import Imagefolder

NOT_LABELS = (-1.0, 2.5, float("nan"), float("inf"), 1e30)


def write_table(tmp_path, suffix, rows):
    path = tmp_path / f"table{suffix}"
    frame = pd.DataFrame(rows)
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return str(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table(suffix, written, tmp_path):
    root = written("x.png", "deep/y.png", "z.png")
    table = write_table(
        tmp_path,
        suffix,
        {
            "path": ["z.png", "x.png", "deep/y.png"],
            "fine": [7, 3, 3],
            "coarse": ["wild", "tame", "tame"],
            "split": ["train", "query", "gallery"],
            "camera": [0, 1, 2],
        },
    )
    source = Imagefolder(root, table=table)
    data = packed_of(source, tmp_path)
    assert data.images[:, 0, 0, 0].tolist() == [20, 0, 10]
    assert data.index["fine"].tolist() == [7, 3, 3]
    assert data.index["coarse"].tolist() == [1, 0, 0]
    assert data.index["coarse_name"].tolist() == ["wild", "tame", "tame"]
    assert data.index["camera"].tolist() == [0, 1, 2]
    assert source.roles(data.index).tolist() == ["train", "query", "gallery"]


@pytest.mark.parametrize(
    ("splits", "roles", "text"),
    [
        ("Train TEST Seen ", "train test seen", ""),
        ("training testing unused", "train test unused", ""),
        ("train test val", "train test seen", "validation has 1 of these classes: its scores are `seen`"),
        ("train unused val", "train unused seen", "validation has 1 of these classes: its scores are `seen`"),
        ("train val train", "train test train", "validation has 1 other class: its scores are `test`"),
    ],
)
def test_splits_in_a_column(splits, roles, text, written, tmp_path):
    """The third image is of the first one's class."""
    columns = {"path": ["x.png", "y.png", "z.png"], "fine": ["a", "b", "a"], "split": splits.split(" ")[:3]}
    source = Imagefolder(written(*columns["path"]), table=write_table(tmp_path, ".csv", columns))
    lines = []
    source.download(tmp_path, lines.append)
    assert text in lines[-1]
    assert len(lines) == 1 + bool(text)
    assert source.roles(packed_of(source, tmp_path).index).tolist() == roles.split()


@pytest.mark.parametrize(
    ("label", "suffix"), [(-1.0, ".csv"), (float("nan"), ".csv"), *((label, ".parquet") for label in NOT_LABELS)]
)
def test_numbers_that_are_not_labels_name_their_row(label, suffix, written, tmp_path):
    table = write_table(tmp_path, suffix, {"path": ["x.png", "y.png"], "fine": [0.0, label]})
    row = 3 if suffix == ".csv" else 1
    with pytest.raises(DataError, match=rf"table{suffix}: row {row}: fine is .*(missing|expected an integer)"):
        packed_of(Imagefolder(written("x.png", "y.png"), table=table), tmp_path)


@pytest.mark.parametrize("column", ["fine", "coarse"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("values", "numbers", "names"),
    [
        ("007 7 08 1", [0, 3, 1, 2], "007 7 08 1"),
        ("1e5 100000 2 1_0", [2, 0, 3, 1], "1e5 100000 2 1_0"),
        ("1.50 1.5 2 -0", [2, 1, 3, 0], "1.50 1.5 2 -0"),
        ("7 7.0 7 8", [0, 1, 0, 2], "7 7.0 7 8"),
        ("7 12 7 0", [7, 12, 7, 0], "7 12 7 0"),
        ("7.0 12.0 7.0 0.0", [7, 12, 7, 0], "7 12 7 0"),  # as a column of floats is written
    ],
)
def test_labels_that_look_like_numbers_stay_apart(values, numbers, names, suffix, column, written, tmp_path):
    paths = [f"{number}.png" for number in range(4)]
    columns = {"path": paths, "fine": ["a", "b", "c", "d"], column: values.split()}
    index = packed_of(Imagefolder(written(*paths), table=write_table(tmp_path, suffix, columns)), tmp_path).index
    assert index[column].tolist() == numbers
    assert index[f"{column}_name"].tolist() == names.split()


def test_given_labels_that_look_like_numbers_stay_apart(written, tmp_path):
    root = written("0.png", "1.png", "2.png")
    columns = {"path": ["0.png", "1.png", "2.png"], "fine": ["007", "7", "7"], "given": ["7", "007", "7"]}
    index = packed_of(Imagefolder(root, table=write_table(tmp_path, ".csv", columns)), tmp_path).index
    assert index["given_fine"].tolist() == [1, 0, 1]
    columns["given"][1] = "07"
    with pytest.raises(DataError, match="row 3: given is '07', which is no verified label"):
        packed_of(Imagefolder(root, table=write_table(tmp_path, ".csv", columns)), tmp_path)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"path": ["x.png"]}, "no column 'fine'"),
        ({"file": ["x.png"], "label": [1]}, r"no column 'path'. Choices: file, label. .*\{path: file\}"),
        ({"path": ["x.png"], "fine": [1], "split": ["validate"]}, "row 2: split is 'validate'"),
        ({"path": ["x.png"], "fine": [1], "camera": ["left"]}, "row 2: camera is 'left'"),
        ({"path": ["x.png", ""], "fine": [1, 1]}, "row 3: path is ''"),
        ({"path": ["x.png", "x.png"], "fine": [1, 1]}, "row 3: 'x.png' is repeated, first in row 2"),
        ({"path": ["x.png", "y.png"], "fine": ["a", " "]}, "row 3: fine is missing"),
        ({"path": ["x.png", "y.png"], "fine": ["a", "a "]}, "fine: 'a ' and 'a' differ by spaces alone"),
        ({"path": [], "fine": []}, "no rows"),
    ],
)
def test_tables_that_are_wrong(columns, match, written, tmp_path):
    table = write_table(tmp_path, ".csv", columns)
    with pytest.raises(DataError, match=match):
        packed_of(Imagefolder(written("x.png", "y.png"), table=table), tmp_path)


def test_images_inside_a_table_are_not_printed(written, tmp_path):
    table = write_table(tmp_path, ".parquet", {"path": [{"bytes": "x" * 1000}], "fine": ["a"]})
    with pytest.raises(DataError, match="the source huggingface reads images inside a table") as raised:
        packed_of(Imagefolder(written("x.png"), table=table), tmp_path)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("path", ["../outside.png", "in/../../outside.png", ".."])
def test_a_path_that_leaves_root_is_refused(path, written, tmp_path):
    root = written("x.png")
    table = write_table(tmp_path, ".csv", {"path": ["x.png", path], "fine": ["a", "b"]})
    with pytest.raises(DataError, match=rf"path is '{re.escape(path)}', which leaves root .*absolute"):
        packed_of(Imagefolder(root, table), tmp_path)
