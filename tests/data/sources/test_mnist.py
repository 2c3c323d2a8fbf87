"""MNIST: idx files, the even/odd classes, the EPS paper's split."""

import gzip
import struct

import numpy as np
import pytest
from small_archives import Row, Small, check_malformed, idx, rewritten

from dml.data import DataError, sources

IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def make(folder):
    rows = []
    for part, stem, digits in (("train", "train", [0, 7, 5, 3]), ("test", "t10k", [5, 6, 9])):
        images = np.stack([np.full((28, 28), 10 * d + len(part)) for d in digits])
        (folder / f"{stem}-images-idx3-ubyte.gz").write_bytes(idx(images))
        (folder / f"{stem}-labels-idx1-ubyte.gz").write_bytes(idx(np.array(digits)))
        for d in digits:
            role = ("train" if part == "train" else "seen") if d <= 5 else ("unused" if part == "train" else "test")
            rows.append(Row(d, d % 2, part, role, 10 * d + len(part)))
    return Small({}, rows, channels=1)


@pytest.mark.parametrize("damage", ["truncated", "fewer labels", "another kind of file", "longer"])
def test_damaged_idx_files(damage, tmp_path):
    make(tmp_path)
    images, labels = tmp_path / IMAGES, tmp_path / LABELS
    if damage == "truncated":
        images.write_bytes(images.read_bytes()[:-20])
    elif damage == "fewer labels":
        labels.write_bytes(idx(np.array([1, 2])))
    elif damage == "another kind of file":
        images.write_bytes(labels.read_bytes())
    else:
        content = gzip.decompress(images.read_bytes())
        images.write_bytes(gzip.compress(content + b"\0"))
    with pytest.raises(DataError, match="train-"):
        list(sources.build("mnist").images(tmp_path))


MALFORMED = {
    "digit 12": (
        rewritten(LABELS, lambda: idx(np.array([0, 7, 12, 3]))),
        rf"{LABELS}: row 2: .* 12, expected an integer from 0 to 9",
    ),
    "images of another size": (
        rewritten(IMAGES, lambda: idx(np.zeros((4, 14, 14)))),
        rf"{IMAGES}: .* 4 x 14 x 14, expected at most 60000 x 28 x 28",
    ),
    "a header that would fill the memory": (
        rewritten(IMAGES, lambda: gzip.compress(struct.pack(">4i", 0x803, 1, 2**30, 2**30))),
        rf"{IMAGES}: .* 1 x 1073741824 x 1073741824",
    ),
    "too many labels": (
        rewritten(LABELS, lambda: idx(np.zeros(60_001))),
        rf"{LABELS}: .* 60001, expected at most 60000",
    ),
    "a negative number": (
        rewritten(LABELS, lambda: gzip.compress(struct.pack(">2i", 0x801, -1))),
        rf"{LABELS}: .* -1",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_raw_files(case, tmp_path, monkeypatch):
    check_malformed("mnist", make, MALFORMED[case], tmp_path, monkeypatch)
