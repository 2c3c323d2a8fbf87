"""A user's own images: folders of one and two levels, tables, and what is wrong with them."""

import csv
import hashlib
import os

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from small_archives import Row, Small, quiet

from dml.data import DataError
from dml.data.packing import open_packed, pack
from dml.data.sources import Imagefolder

NOT_LABELS = (-1.0, 2.5, float("nan"), float("inf"), 1e30)


def make(folder):
    rows = []
    for coarse, fine, kind in ((0, 0, "cat/manx"), (0, 1, "cat/tabby"), (1, 2, "dog/boxer"), (1, 3, "dog/pug")):
        for number in range(2):
            path = folder / "photos" / kind / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 9), (30 * fine + number,) * 3).save(path)
            rows.append(Row(fine, coarse, "", "train" if fine < 2 else "test", 30 * fine + number))
    return Small({"root": str(folder / "photos")}, rows)


@pytest.fixture
def written(tmp_path):
    """Writes images of one grey value below `tmp_path/root`."""

    def write(*paths):
        for number, name in enumerate(paths):
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (10 * number,) * 3).save(path)
        return str(tmp_path / "root")

    return write


def packed(source, tmp_path, **options):
    source.download(tmp_path, quiet)
    pack(source, tmp_path / "raw", tmp_path / "packed", report=quiet, **options)
    return open_packed(tmp_path / "packed")


def test_one_level(written, tmp_path):
    source = Imagefolder(written("b/1.png", "a/2.PNG", "c/sub.png", "b/0.jpg"))
    (tmp_path / "root" / "notes.txt").write_text("no image")
    (tmp_path / "root" / ".hidden").mkdir()
    (tmp_path / "root" / ".hidden" / "x.png").write_bytes(b"")
    index = packed(source, tmp_path).index
    assert index["path"].tolist() == ["a/2.PNG", "b/0.jpg", "b/1.png", "c/sub.png"]
    assert index["fine"].tolist() == [0, 1, 1, 2]
    assert index["fine_name"].tolist() == ["a", "b", "b", "c"]
    assert index["coarse"].tolist() == [-1] * 4


def test_two_levels(written, tmp_path):
    source = Imagefolder(written("cats/tabby/1.png", "dogs/x/2.png", "dogs/tabby/3.png", "dogs/x/4.png"))
    data = packed(source, tmp_path)
    index = data.index
    assert index["fine_name"].tolist() == ["cats/tabby", "dogs/tabby", "dogs/x", "dogs/x"]
    assert index["fine"].tolist() == [0, 1, 2, 2]
    assert index["coarse"].tolist() == [0, 1, 1, 1]
    assert data.images[:, 0, 0, 0].tolist() == [0, 20, 10, 30]


@pytest.mark.parametrize("paths", [(), ("1.png",), ("a/1.png", "b/c/2.png"), ("a/b/c/1.png",), ("a/1.png", "2.png")])
def test_other_depths(paths, written, tmp_path):
    (tmp_path / "root").mkdir()
    with pytest.raises(DataError, match=r"expected <class>/<image> or <coarse>/<fine>/<image> throughout, found"):
        packed(Imagefolder(written(*paths) if paths else str(tmp_path / "root")), tmp_path)


def test_classes_are_split_in_the_order_of_their_names(written, tmp_path):
    root = written(*(f"{coarse}/{fine}/{n}.png" for coarse in "abc" for fine in "xy" for n in range(2)))
    index = packed(Imagefolder(root), tmp_path).index
    assert Imagefolder(root).roles(index).tolist() == ["train"] * 6 + ["test"] * 6
    assert Imagefolder(root, test_share=0.34, disjoint="coarse").roles(index).tolist() == ["train"] * 8 + ["test"] * 4
    assert set(Imagefolder(root, test_share=0).roles(index)) == {"train"}


def test_disjoint_in_missing_labels(written, tmp_path):
    root = written("a/1.png", "b/1.png")
    index = packed(Imagefolder(root), tmp_path).index
    with pytest.raises(DataError, match="no coarse labels"):
        Imagefolder(root, disjoint="coarse").roles(index)


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
    data = packed(source, tmp_path)
    assert data.images[:, 0, 0, 0].tolist() == [20, 0, 10]
    assert data.index["fine"].tolist() == [7, 3, 3]
    assert data.index["coarse"].tolist() == [1, 0, 0]
    assert data.index["coarse_name"].tolist() == ["wild", "tame", "tame"]
    assert data.index["camera"].tolist() == [0, 1, 2]
    assert source.roles(data.index).tolist() == ["train", "query", "gallery"]


@pytest.mark.parametrize(
    ("fine", "coarse", "said"),
    [
        (["a", " a", "A", "b"], "xxxx", "' a', 'A', 'a'"),
        (["sea lion", "sealion", "B", "b"], "xxxx", "'B', 'b'; 'sea lion', 'sealion'"),
        (["a", "b", "c", "d"], "xyXz", "'X', 'x'"),
        (["a", "b", "c", "d"], "xyzz", ""),
    ],
)
def test_class_names_that_differ_only_in_spaces_or_case_are_reported(fine, coarse, said, written, tmp_path):
    paths = ["0.png", "1.png", "2.png", "3.png"]
    table = write_table(tmp_path, ".csv", {"path": paths, "fine": fine, "coarse": list(coarse)})
    source, lines = Imagefolder(written(*paths), table=table), []
    pack(source, tmp_path / "raw", tmp_path / "packed", report=lines.append)
    found = [line for line in lines if "class names" in line]
    assert found == ([f"imagefolder: these class names differ only in spaces or case: {said}"] if said else [])
    assert open_packed(tmp_path / "packed").index["fine_name"].tolist() == fine


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_other_columns_are_ignored_and_named(suffix, written, tmp_path):
    columns = {"path": ["x.png", "y.png"], "fine": ["a", "b"], "name": ["Ann", "Bob"], "site": [1, 2], "splits": [3, 4]}
    source = Imagefolder(written("x.png", "y.png"), table=write_table(tmp_path, suffix, {**columns, "split": "train"}))
    lines = []
    source.download(tmp_path, lines.append)
    assert lines[1:] == [f"imagefolder: {source.table}: columns that are not used: name, site, splits"]
    assert packed(source, tmp_path).index["fine_name"].tolist() == ["a", "b"]


def test_columns_may_have_other_names(written, tmp_path):
    columns = {
        "image": ["x.png", "y.png"],
        "path": ["no.png", "none.png"],
        "label": ["wren", "owl"],
        "fine": ["a", "b"],
    }
    table = write_table(tmp_path, ".csv", columns)
    source = Imagefolder(written("x.png", "y.png"), table=table, columns={"path": "image", "fine": "label"})
    index = packed(source, tmp_path).index
    assert index["path"].tolist() == ["x.png", "y.png"]
    assert index["fine_name"].tolist() == ["wren", "owl"]
    with pytest.raises(DataError, match=r"columns: fine: no column 'labels'; did you mean 'label'\?"):
        packed(Imagefolder(str(tmp_path / "root"), table=table, columns={"fine": "labels"}), tmp_path)


@pytest.mark.parametrize("columns", [{"label": "fine"}, {"fine": 3}])
def test_columns_that_cannot_be(columns):
    with pytest.raises(ValueError, match=next(iter(columns))):
        Imagefolder("x", table="t.csv", columns=columns)
    with pytest.raises(ValueError, match="columns: they are those of a table"):
        Imagefolder("x", columns={"fine": "label"})


@pytest.mark.parametrize(("sign", "name"), [(",", "t.csv"), (";", "t.csv"), ("\t", "t.csv"), ("\t", "t.tsv")])
def test_separators(sign, name, written, tmp_path):
    with open(tmp_path / name, "w", encoding="utf-8-sig", newline="") as file:
        rows = [["path", "fine", "note"], ["x.png", "a,b;c\td", "1,5"], ["y.png", "e,f;g,h", ""]]
        csv.writer(file, delimiter=sign).writerows(rows)
    index = packed(Imagefolder(written("x.png", "y.png"), table=str(tmp_path / name)), tmp_path).index
    assert index["fine_name"].tolist() == ["a,b;c\td", "e,f;g,h"]


@pytest.mark.parametrize(
    ("splits", "roles", "text"),
    [
        ("Train TEST Seen ", "train test seen", ""),
        ("training testing unused", "train test unused", ""),
        ("train test val", "train test seen", "validation has 1 of these classes: its scores are `seen`"),
        ("train unused val", "train unused seen", "validation has 1 of these classes: its scores are `seen`"),
        ("train val train", "train test train", "validation has 1 other classes: its scores are `test`"),
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
    assert source.roles(packed(source, tmp_path).index).tolist() == roles.split()


def test_names_as_labels_and_classes_split(written, tmp_path):
    root = written("x.png", "y.png")
    table = write_table(tmp_path, ".csv", {"path": ["x.png", "y.png"], "fine": ["wren", "owl"]})
    source = Imagefolder(root, table=table)
    index = packed(source, tmp_path).index
    assert index["fine"].tolist() == [1, 0]
    assert source.roles(index).tolist() == ["test", "train"]


@pytest.mark.parametrize(
    ("label", "suffix"),
    [(-1.0, ".csv"), (float("nan"), ".csv"), *((label, ".parquet") for label in NOT_LABELS)],
)
def test_numbers_that_are_not_labels_name_their_row(label, suffix, written, tmp_path):
    table = write_table(tmp_path, suffix, {"path": ["x.png", "y.png"], "fine": [0.0, label]})
    row = 3 if suffix == ".csv" else 1
    with pytest.raises(DataError, match=rf"table{suffix}: row {row}: fine is .*(missing|expected an integer)"):
        packed(Imagefolder(written("x.png", "y.png"), table=table), tmp_path)


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
    index = packed(Imagefolder(written(*paths), table=write_table(tmp_path, suffix, columns)), tmp_path).index
    assert index[column].tolist() == numbers
    assert index[f"{column}_name"].tolist() == names.split()


def test_only_tables_that_were_read_otherwise_before_are_packed_again(written, tmp_path):
    """Images were packed while `007` was read as 7: the line about names was not in the fingerprint then."""
    root = written("0.png", "1.png")
    for labels, again in ((["7", "8"], False), (["a", "007"], False), (["7.0", "8.0"], False), (["07", "8"], True)):
        table = write_table(tmp_path, ".csv", {"path": ["0.png", "1.png"], "fine": labels})
        files = [tmp_path / "root/0.png", tmp_path / "root/1.png", tmp_path / "table.csv"]
        lines = [f"{path}|{path.stat().st_size, path.stat().st_mtime_ns}\n" for path in files]
        before = hashlib.sha256("".join(lines).encode()).hexdigest()
        assert (Imagefolder(root, table=table).fingerprint(tmp_path) != before) == again


def test_given_labels_that_look_like_numbers_stay_apart(written, tmp_path):
    root = written("0.png", "1.png", "2.png")
    columns = {"path": ["0.png", "1.png", "2.png"], "fine": ["007", "7", "7"], "given": ["7", "007", "7"]}
    index = packed(Imagefolder(root, table=write_table(tmp_path, ".csv", columns)), tmp_path).index
    assert index["given_fine"].tolist() == [1, 0, 1]
    columns["given"][1] = "07"
    with pytest.raises(DataError, match="row 3: given is '07', which is no verified label"):
        packed(Imagefolder(root, table=write_table(tmp_path, ".csv", columns)), tmp_path)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"path": ["x.png"]}, "no column 'fine'"),
        ({"file": ["x.png"], "fine": [1]}, "no column 'path'"),
        ({"path": ["x.png"], "fine": [1], "spilt": ["train"]}, "unknown column 'spilt'; did you mean 'split'"),
        ({"path": ["x.png"], "fine": [1], "Camera": [1]}, r"'Camera'.*`options: \{columns: \{camera: Camera\}\}`"),
        ({"path": ["x.png"], "fine": [1], "split": ["validate"]}, "row 2: split is 'validate'"),
        ({"path": ["x.png"], "fine": [1], "camera": ["left"]}, "row 2: camera is 'left'"),
        ({"path": ["x.png", ""], "fine": [1, 1]}, "row 3: path is ''"),
        ({"path": ["x.png", "x.png"], "fine": [1, 1]}, "row 3: 'x.png' is repeated, first in row 2"),
        ({"path": ["x.png", "y.png"], "fine": ["a", " "]}, "row 3: fine is missing"),
        ({"path": [], "fine": []}, "no rows"),
    ],
)
def test_tables_that_are_wrong(columns, match, written, tmp_path):
    table = write_table(tmp_path, ".csv", columns)
    with pytest.raises(DataError, match=match):
        packed(Imagefolder(written("x.png", "y.png"), table=table), tmp_path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("path,fine\n\nx.png,1\n \ny.png,-1\n", "row 5: fine is '-1'"),
        ('path,fine,coarse\nx.png,1,"a\n\nb"\ny.png,-1,c\n', "row 5: fine is '-1'"),
        ("\n\npath,fine\r\nx.png,-1\r\n", "row 4: fine is '-1'"),
        ("path,fine\nx.png,1\n\nx.png,1\n\nx.png,1", "row 4: 'x.png' is repeated, first in row 2$"),
        ("path,fine\na/x.png,1\n./a//x.png,1\n", r"row 3: './a//x.png' is repeated, first in row 2 as 'a/x.png'"),
        ("path,fine\nx.png,1\n\ny.png,1,2\n", "row 4: expected 2 fields, got 3"),
        ("path,fine\n\ny.png\n", "row 3: expected 2 fields, got 1"),
        ("path,fine,fine\ny.png,1,2\n", "a column is repeated: path, fine, fine"),
        ('path,fine\n"y.png,1\n', "cannot be read: unexpected end of data"),
        ("\n \n", "cannot be read: the file is empty"),
    ],
)
def test_rows_are_numbered_as_an_editor_numbers_lines(text, match, written, tmp_path):
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(DataError, match=match):
        packed(Imagefolder(written("x.png", "y.png"), table=str(tmp_path / "t.csv")), tmp_path)


def test_a_csv_as_other_programs_write_it(written, tmp_path):
    text = '\ufeffpath,fine\r\n\r\n"x.png","Wren, little"\r\ny.png,"""Owl"""\r\n\r\n'
    (tmp_path / "t.csv").write_bytes(text.encode())
    index = packed(Imagefolder(written("x.png", "y.png"), table=str(tmp_path / "t.csv")), tmp_path).index
    assert index["fine_name"].tolist() == ["Wren, little", '"Owl"']


def test_a_parquet_label_that_is_null(written, tmp_path):
    table = write_table(tmp_path, ".parquet", {"path": ["x.png", "y.png"], "fine": ["a", None]})
    with pytest.raises(DataError, match="row 1: fine is missing"):
        packed(Imagefolder(written("x.png", "y.png"), table=table), tmp_path)


def test_files_that_are_not_tables(written, tmp_path):
    root = written("x.png")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    (tmp_path / "t.csv").write_bytes(b"")
    (tmp_path / "t.xlsx").write_bytes(b"")
    for name, match in (("t.parquet", "cannot be read"), ("t.csv", "cannot be read"), ("t.xlsx", "expected a .csv")):
        with pytest.raises(DataError, match=match):
            packed(Imagefolder(root, table=str(tmp_path / name)), tmp_path)


@pytest.mark.parametrize("on_corrupt", ["error", "skip"])
@pytest.mark.parametrize(("absent", "named"), [(1, "0.png"), (5, r"0.png, 1.png, 2.png and 2 more")])
def test_files_that_the_table_names_and_are_not_there(absent, named, on_corrupt, written, tmp_path):
    paths = ["x.png", *(f"{number}.png" for number in range(absent))]
    table = write_table(tmp_path, ".csv", {"path": paths, "fine": range(absent + 1)})
    with pytest.raises(DataError) as raised:
        packed(Imagefolder(written("x.png"), table=table), tmp_path, on_corrupt=on_corrupt)
    assert str(raised.value) == (
        f"imagefolder: {absent} of {absent + 1} files are missing: {named}. Paths are relative to root, which is "
        f"{str(tmp_path / 'root')!r}"
    )


def test_no_such_folder_or_table(written, tmp_path):
    with pytest.raises(DataError, match=r"root is '/nowhere/at/all', which is not a folder"):
        packed(Imagefolder("/nowhere/at/all"), tmp_path)
    with pytest.raises(DataError, match=r"table is 'none\.csv', which is not a file"):
        packed(Imagefolder(written("a/x.png"), table="none.csv"), tmp_path)


def test_a_changed_folder_is_packed_again(written, tmp_path):
    source = Imagefolder(written("a/1.png", "b/2.png"))
    assert len(packed(source, tmp_path).images) == 2
    Image.new("RGB", (8, 8), "red").save(tmp_path / "root" / "b" / "3.bmp")
    assert len(packed(source, tmp_path).images) == 3
    before = open_packed(tmp_path / "packed").manifest["digest"]
    path = tmp_path / "root" / "b" / "3.bmp"
    state = path.stat()
    Image.new("RGB", (8, 8), "lime").save(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert path.stat().st_size == state.st_size
    assert packed(source, tmp_path).manifest["digest"] != before
    lines = []
    pack(source, tmp_path / "raw", tmp_path / "packed", report=lines.append)
    assert "packed already" in lines[0]


def test_lazy_decoding_follows_links(written, tmp_path):
    source = Imagefolder(written("a/1.png", "b/2.png"))
    (tmp_path / "root" / "c").symlink_to(tmp_path / "root" / "b")
    data = packed(source, tmp_path, resize=4, decode="lazy")
    assert data.index["fine"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.images[[0, 2]][:, 0, 0, 0], [0, 10])


def test_links_that_lead_back_are_named(written, tmp_path):
    root = tmp_path / "root"
    source = Imagefolder(written("a/1.png", "b/2.png"))
    for name in "ab":
        (root / name / "up").symlink_to(root)
    with pytest.raises(DataError, match=r"root/a/up: .*found a link back"):
        packed(source, tmp_path)
    for name, other in ("ab", "ba"):
        (root / name / "up").unlink()
        (root / name / "up").symlink_to(root / other)
    with pytest.raises(DataError, match=r"root/a/up/up: .*found a link back"):
        packed(source, tmp_path)


def test_only_some_of_many_depths_are_shown(written, tmp_path):
    paths = ["/".join("abcdefg"[:depth]) + "/1.png" for depth in range(1, 8)]
    with pytest.raises(DataError, match=r"throughout, found \S+, \S+, \S+, \.\.\.$"):
        packed(Imagefolder(written(*paths)), tmp_path)


def test_packing_into_its_own_root_deletes_nothing(written, tmp_path):
    source = Imagefolder(written("a/1.png", "b/2.png"))
    for out in ("root", "root/a", "root/a/1.png", "."):
        with pytest.raises(DataError, match="expected a new or empty folder"):
            pack(source, tmp_path / "raw", tmp_path / out, report=quiet)
    assert len(packed(source, tmp_path).images) == 2


@pytest.mark.parametrize("options", [{"test_share": 1.5}, {"disjoint": "superfine"}])
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Imagefolder("x", **options)
