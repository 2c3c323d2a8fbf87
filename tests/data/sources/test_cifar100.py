"""CIFAR-100: pickles that may be damaged or hostile."""

import pickle

import numpy as np
import pytest
from small_archives import Row, Small, rewritten, tar

from dml.data import DataError, sources

FOLDER = "cifar-100-python"


def make(folder):
    rows, members = [], {}
    for part, labels in {"train": [(0, 3), (49, 4), (50, 3)], "test": [(49, 4), (99, 19)]}.items():
        data = np.stack([np.full(3072, 60 + 10 * fine // 7) for fine, _ in labels]).astype(np.uint8)
        batch = {"data": data, "fine_labels": [f for f, _ in labels], "coarse_labels": [c for _, c in labels]}
        members[f"{FOLDER}/{part}"] = pickle.dumps(batch, protocol=2)
        for fine, coarse in labels:
            role = ("train" if part == "train" else "seen") if fine < 50 else ("unused" if part == "train" else "test")
            rows.append(Row(fine, coarse, part, role, 60 + 10 * fine // 7))
    meta = {"fine_label_names": [f"fine{n}" for n in range(100)], "coarse_label_names": [f"c{n}" for n in range(20)]}
    members[f"{FOLDER}/meta"] = pickle.dumps(meta, protocol=2)
    tar(folder / f"{FOLDER}.tar.gz", members)
    return Small({}, rows)


def test_pixels_are_one_channel_after_another(tmp_path):
    """The dataset's page: 1024 red, 1024 green, 1024 blue, each row by row. Three pixels tell the order."""
    data = np.zeros((1, 3072), np.uint8)
    data[0, 1] = data[0, 1024 + 32] = data[0, 2048 + 33] = 255
    batch = {"data": data, "fine_labels": [0], "coarse_labels": [0]}
    folder = tmp_path / FOLDER
    folder.mkdir()
    for part in ("train", "test"):
        (folder / part).write_bytes(pickle.dumps(batch))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": ["a"], "coarse_label_names": ["b"]}))
    image = next(iter(sources.build("cifar100").images(tmp_path)))["image"]
    assert np.argwhere(image == 255).tolist() == [[0, 1, 0], [1, 0, 1], [1, 1, 2]]


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Hostile:
        def __reduce__(self):
            return (print, ("code ran",))

    (tmp_path / FOLDER).mkdir()
    content = pickle.dumps({"fine_label_names": Hostile()}, protocol=2)
    (tmp_path / FOLDER / "meta").write_bytes(content)
    with pytest.raises(DataError, match=r"meta: .*print is not allowed"):
        list(sources.build("cifar100").images(tmp_path))


def changed(**changes):
    batch = {"data": np.zeros((2, 3072), np.uint8), "fine_labels": [0, 1], "coarse_labels": [0, 1]} | changes
    content = pickle.dumps({key: value for key, value in batch.items() if value is not None}, protocol=2)
    return rewritten(f"{FOLDER}/train", lambda: content)


NAMES = pickle.dumps({"fine_label_names": ["a"] * 101, "coarse_label_names": ["b"] * 20})
MALFORMED = {
    "fine 150": (changed(fine_labels=[0, 150]), "train: row 1: fine: .* 150, expected an integer from 0 to 99"),
    "fine -1": (changed(fine_labels=[0, -1]), "train: row 1: fine: .* -1"),
    "coarse 20": (changed(coarse_labels=[20, 0]), "train: row 0: coarse: .* 20, expected an integer from 0 to 19"),
    "fewer labels": (changed(fine_labels=[0]), "train: expected fine_labels .* 2 labels, got 1"),
    "labels of another type": (changed(coarse_labels=7), "train: expected coarse_labels .* 2 labels, got int"),
    "no labels": (changed(fine_labels=None), "train: expected .* fine_labels, .* got data, coarse_labels"),
    "floats": (
        changed(data=np.zeros((2, 3072))),
        r"train: expected data .* uint8 \(N, 3072\), got float64 \(2, 3072\)",
    ),
    "images of another size": (changed(data=np.zeros((2, 1024), np.uint8)), r"got uint8 \(2, 1024\)"),
    "no dictionary": (rewritten(f"{FOLDER}/train", lambda: pickle.dumps([1, 2])), "train: expected .*, got list"),
    "too many names": (rewritten(f"{FOLDER}/meta", lambda: NAMES), "meta: expected fine_label_names .* 100 names"),
}
