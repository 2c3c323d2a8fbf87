"""Vectors that a user already has: the kinds of files, the labels, and what is wrong with them."""

import numpy as np
import pandas as pd
import pytest
from small_archives import Small, packed_of, quiet

from dml.data import DataError
from dml.data.packing import of_vectors, pack
from dml.data.sources import Features
from dml.data.sources._table import has_vectors

FINE = ("wren", "wren", "owl", "owl", "jay", "jay")


def vectors(kind=np.float32):
    return np.arange(24, dtype=kind).reshape(6, 4)


def make(folder):
    np.save(folder / "x.npy", vectors())
    pd.DataFrame({"fine": FINE}).to_csv(folder / "labels.csv", index=False)
    return Small({"vectors": str(folder / "x.npy"), "table": str(folder / "labels.csv"), "test_share": 0.3}, None)


@pytest.fixture
def source(tmp_path):
    """Makes a source of an array in a file of a kind, and of a table."""

    def build(array=None, file="x.npy", table=None, **options):
        array, path = vectors() if array is None else array, tmp_path / file
        if path.suffix == ".npy":
            np.save(path, array)
        elif path.suffix == ".npz":
            np.savez(path, **(array if isinstance(array, dict) else {"any": array}))
        else:
            (array if isinstance(array, pd.DataFrame) else pd.DataFrame(array).add_prefix("x")).to_parquet(path)
        table = pd.DataFrame({"fine": FINE}) if table is None else table
        table.to_csv(tmp_path / "labels.csv", index=False)
        return Features(str(path), str(tmp_path / "labels.csv"), **options)

    return build


LISTS = pd.DataFrame({"embedding": list(vectors())})


@pytest.mark.parametrize(
    ("array", "file"),
    [
        (vectors(), "x.npy"),
        (vectors(), "x.npz"),
        ({"embeddings": vectors(), "index": np.arange(6)}, "x.npz"),
        (vectors(), "x.parquet"),
        (LISTS, "x.parquet"),
        (vectors(np.float64), "x.npy"),
        (vectors(np.float16), "x.npy"),
    ],
)
def test_vectors_are_packed_as_given(source, tmp_path, array, file):
    found = packed_of(source(array, file), tmp_path)
    assert of_vectors(found.manifest)
    half = getattr(array, "dtype", None) == np.float16
    assert found.images.dtype == (np.float16 if half else np.float32)
    assert isinstance(found.images, np.memmap)
    assert np.array_equal(found.images[:, 0, 0], vectors())
    assert found.index["fine_name"].tolist() == list(FINE)
    assert found.index["path"].tolist() == [str(row) for row in range(6)]


def test_the_digest_is_that_of_vectors_and_labels(source, tmp_path):
    first = pack(source(), tmp_path, tmp_path / "a", report=quiet)["digest"]
    other = vectors()
    other[3, 1] += 1
    assert pack(source(other), tmp_path, tmp_path / "b", report=quiet)["digest"] != first
    labels = pd.DataFrame({"fine": [*FINE[:-1], "owl"]})
    assert pack(source(table=labels), tmp_path, tmp_path / "c", report=quiet)["digest"] != first
    assert pack(source(), tmp_path, tmp_path / "d", report=quiet)["digest"] == first


def test_labels_and_roles_of_the_table(source, tmp_path):
    table = pd.DataFrame({"fine": FINE, "coarse": ["a", "a", "b", "b", "b", "b"]})
    made = source(table=table, disjoint="coarse")
    found = packed_of(made, tmp_path)
    assert found.index["coarse"].tolist() == [0, 0, 1, 1, 1, 1]
    assert made.roles(found.index).tolist() == ["train"] * 2 + ["test"] * 4
    table = pd.DataFrame({"fine": FINE, "split": ["train", "seen", "query", "gallery", "unused", "unused"]})
    made = source(table=table)
    assert made.roles(packed_of(made, tmp_path).index).tolist() == table["split"].tolist()


def as_csv(path, content, **more):
    """Numbers of six rows and their labels as one CSV, with other columns; the source that reads it."""
    pd.DataFrame({**{f"x{i}": column for i, column in enumerate(content.T)}, "fine": FINE, **more}).to_csv(path)
    return Features(str(path), str(path))


@pytest.mark.parametrize("content", [vectors() / 8, vectors(np.int64)])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_csv_of_vectors_is_read_as_other_tables_are(tmp_path, content, encoding):
    """Its dimensions are its numbers: not those of rows, which pandas writes, nor the column `index`."""
    path = tmp_path / "x.csv"
    source = as_csv(path, content, index=range(6), title="a, b")
    path.write_text("sep=,\n" + path.read_text(), encoding=encoding)
    assert np.array_equal(source.vectors(tmp_path), content)
    assert has_vectors(path)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([0.5] * 5 + ["?"], "row 7: y is '\\?', expected a number, with a point"),
        (["0.5", "1,5"] * 3, "row 3: y is '1,5', expected a number, with a point"),
        ([0.5] * 5 + [None], "row 7: y is '', expected a number"),
        ([0, 0, 1, 1, 2, 2], "column 'y' is of whole numbers, others are not: expected one column of lists"),
    ],
)
def test_a_cell_or_column_of_a_csv_that_is_no_dimension_is_an_error(tmp_path, cells, message):
    source = as_csv(tmp_path / "x.csv", vectors() / 8, y=cells)
    assert has_vectors(tmp_path / "x.csv")
    with pytest.raises(DataError, match=message):
        source.vectors(tmp_path)


@pytest.mark.parametrize(
    ("name", "image", "more"),
    [
        ("photo", "a.jpg", {"x": 0.5, "y": 0.1}),
        ("Path", "a.jpg", {"area": 0.1}),
        ("path", "001", {"area": 0.1}),
        ("path", "002", {}),
    ],
)
def test_a_table_of_images_with_numbers_has_no_vectors(tmp_path, name, image, more):
    pd.DataFrame({name: [image], **more, "width": 3, "height": 5}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "001").touch()
    assert not has_vectors(tmp_path / "t.csv")
    pd.DataFrame({"shot": ["a.jpg"], **{f"x{i}": 0.5 for i in range(8)}}).to_csv(tmp_path / "wide.csv", index=False)
    assert has_vectors(tmp_path / "wide.csv"), "embeddings of images"
    assert not has_vectors(tmp_path / "t.csv", {"path": name})


NAN = vectors()
NAN[4, 2] = np.nan


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"array": vectors()[:5]}, r"x\.npy has 5 vectors, .*labels\.csv 6 rows: expected one row of labels for each"),
        ({"array": NAN}, r"x\.npy: vector 4 \(from 0\) contains infinity or NaN"),
        ({"array": vectors(np.float64) * 1e300}, "vector 0 .*infinity or NaN"),
        ({"array": vectors(np.int64)}, r"expected vectors of type float16, float32 or float64, got int64"),
        ({"array": vectors()[:, 0]}, r"expected vectors of shape \(n, D\), got \(6,\)"),
        ({"array": {"a": vectors(), "b": vectors()}, "file": "x.npz"}, "one called features, embeddings.*it has a, b"),
        ({"array": vectors(np.int64), "file": "x.parquet"}, "column 'x0' is int64: expected one column of lists"),
        ({"array": pd.DataFrame({"e": [[1.0]] * 5 + [[1.0, 2.0]]}), "file": "x.parquet"}, "lists of equal length"),
        (
            {"table": pd.DataFrame({"label": FINE})},
            r"no column 'fine'\. Choices: label\. `settings: \{columns: \{fine:",
        ),
        ({"table": pd.DataFrame({"fine": [*FINE[:5], None], "path": list("abcdef")})}, "row 7: fine is missing"),
        ({"table": pd.DataFrame({"fine": FINE, "split": ["train"] * 5 + ["tset"]})}, "'tset'; did you mean 'test'"),
        ({"disjoint": "coarse"}, "disjoint='coarse', but there are no coarse labels"),
    ],
)
def test_what_is_wrong_is_one_message(source, tmp_path, given, message):
    made = source(**given)
    with pytest.raises(DataError, match=message):
        made.roles(packed_of(made, tmp_path).index)
    assert given.get("disjoint") or not (tmp_path / "packed").exists()
