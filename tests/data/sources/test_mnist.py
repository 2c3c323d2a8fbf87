"""MNIST: idx files, the even/odd classes, the EPS paper's split."""

import gzip

import numpy as np
import pytest
from small_archives import Row, Small, idx

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
