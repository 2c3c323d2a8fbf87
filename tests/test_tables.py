"""Tables that people wrote: each form of a CSV gives the same rows, and what cannot be read names its line."""

import numpy as np
import pytest

from dml import noise
from dml.audit.study import read_review
from dml.data.sources import Features, Imagefolder
from dml.data.sources.cifar100 import read_given
from dml.files import DataError
from dml.tables import read_rows

ROWS = [["a.png", "caf\u00e9, red"], ["b.png", "3,5"]]
FORMS = {
    "plain.csv": b'path,fine\na.png,"caf\xc3\xa9, red"\nb.png,"3,5"\n',
    "semicolons.CSV": b"path;fine\r\na.png;caf\xc3\xa9, red\r\nb.png;3,5\r\n",
    "tabs.TSV": b"path\tfine\na.png\tcaf\xc3\xa9, red\nb.png\t3,5\n",
    "excel.csv": b"\xef\xbb\xbfsep=;\r\npath;fine\r\na.png;caf\xc3\xa9, red\r\nb.png;3,5\r\n",
    "bar.csv": b"sep=|\npath|fine\na.png|caf\xc3\xa9, red\nb.png|3,5\n",
    "utf-16.csv": "path\tfine\r\na.png\tcaf\u00e9, red\r\nb.png\t3,5\r\n".encode("utf-16"),
    "big-endian.csv": b"\xfe\xff" + "sep=;\npath;fine\na.png;caf\u00e9, red\nb.png;3,5\n".encode("utf-16-be"),
    "spaces.csv": b'path , fine\na.png, "caf\xc3\xa9, red"\nb.png, "3,5"\n',
    "quoted.csv": b'"path";"fine"\n"a.png";"caf\xc3\xa9, red"\n"b.png";"3,5"\n',
    "blank lines.csv": b"\n \npath;fine\na.png;caf\xc3\xa9, red\n\nb.png;3,5",
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_has_the_same_rows(name, tmp_path):
    (tmp_path / name).write_bytes(FORMS[name])
    table, numbers = read_rows(tmp_path / name)
    assert (list(table), table.to_numpy().tolist()) == (["path", "fine"], ROWS)
    lines = FORMS[name].replace(b"\0", b"").split(b"\n")
    assert [lines[number - 1].strip(b'"')[:5] for number in numbers] == [b"a.png", b"b.png"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("path,fine\na,b\nc,caf\u00e9\n".encode("latin-1"), "line 3: expected text in UTF-8.*got the byte 0xe9"),
        ("path,fine\na,b\n".encode("utf-16-le"), "line 1: expected text in UTF-8.*got a null character"),
        ("path,fine\na,b\n".encode("utf-32"), "line 1: expected text in UTF-8.*got a null character"),
        (b"sep=;\npath;fine\na;b\nc,d\n", "row 4: expected 2 fields, got 1"),
        (b'path,fine\na,b\n"c"d,e\n', "row 3: cannot be read: "),
        (b"path,fine, path \na,b,c\n", "a column is repeated: path, fine, path"),
        (b"sep=;\n", "the file is empty"),
    ],
)
def test_what_cannot_be_read_names_its_line(content, message, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=f"t.csv: .*{message}"):
        read_rows(tmp_path / "t.csv")


def labels_of_images(path):
    return [record["fine"] for record in Imagefolder(str(path.parent), table=str(path)).images(path.parent)]


def labels_of_vectors(path):
    return [record["fine"] for record in Features("x.npy", str(path)).images(path.parent)]


def labels_of_a_file(path):
    return noise.build("label_file", path=path).corrupt(np.array([2, 1, 2]), 0).observed.tolist()


def labels_as_given(path):
    return read_given(path, {"fine": [0, 0, 0]}, {"fine": 3, "coarse": 3})["fine"].tolist()


def labels_of_a_review(path):
    return read_review(path)["index"].tolist()


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        (labels_of_images, "path;fine"),
        (labels_of_vectors, "path;fine"),
        (labels_of_a_file, "index;label"),
        (labels_as_given, "index;noisy_fine;noisy_coarse"),
        (labels_of_a_review, "path;index;answer"),
    ],
)
@pytest.mark.parametrize(("name", "encoding"), [("t.CSV", "utf-16"), ("t.tsv", "utf-8-sig")])
def test_every_reader_reads_what_excel_writes(read, columns, name, encoding, tmp_path):
    rows = [f"{row};{label};{label}".split(";")[: columns.count(";") + 1] for row, label in enumerate([2, 1, 2])]
    rows = [";".join([*row[:-1], "right"] if "answer" in columns else row) for row in rows]
    (tmp_path / name).write_text("\r\n".join(["sep=;", columns, *rows]), encoding=encoding)
    assert read(tmp_path / name) == [2, 1, 2]
