"""A look at a folder of images: what is counted is what was put there."""

import shutil

import numpy as np
import pytest
from PIL import Image

from dml.data import sources
from dml.data.survey import survey


def save(path, value, size=(20, 10), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = size if mode == "L" else (*size, 3)
    Image.fromarray(np.full(shape, value, np.uint8)).save(path)


@pytest.fixture
def folder(tmp_path):
    """Four classes of 3, 3, 2 and 1 images, 20 x 10 pixels; the names in the order of the classes."""
    for number, images in enumerate((3, 3, 2, 1)):
        for image in range(images):
            save(tmp_path / f"c{number}/{image}.png", 50 * number + 5 * image)
    return tmp_path


def look(folder):
    return survey(sources.build("imagefolder", root=str(folder)), folder, workers=2)


def test_counts_sizes_and_roles(folder):
    save(folder / "c0/large.png", 7, size=(31, 40))
    found = look(folder)
    assert len(found.index) == 10
    assert dict(found.per_class()) == {"c0": 4, "c1": 3, "c2": 2, "c3": 1}
    assert found.per_class().iloc[0] == 1
    assert dict(found.per_class("train")) == {"c0": 4, "c1": 3}
    assert dict(found.per_class("test")) == {"c2": 2, "c3": 1}
    assert (found.side, found.sizes, found.grey) == (10, 2, False)
    assert (found.corrupt, found.copies, found.mislabelled) == ({}, (), ())


def test_a_file_that_cannot_be_decoded_is_named_with_its_reason(folder):
    whole = (folder / "c1/0.png").read_bytes()
    (folder / "c1/0.png").write_bytes(whole[: len(whole) // 2])  # its header is whole
    (folder / "c2/bad.png").write_bytes(b"no image")
    (folder / "c2/worse.png").write_bytes(b"no image")
    found = look(folder)
    paths = found.index["path"].to_numpy()
    assert {paths[row] for row in found.corrupt} == {"c1/0.png", "c2/bad.png", "c2/worse.png"}
    assert "not a JPEG, PNG" in found.corrupt[list(paths).index("c2/bad.png")]
    assert found.copies == ()  # equal files that are no images are no copies


def test_exact_copies_within_and_between_classes(folder):
    shutil.copy(folder / "c0/0.png", folder / "c0/again.png")
    shutil.copy(folder / "c1/1.png", folder / "c2/elsewhere.png")
    found = look(folder)
    paths = found.index["path"].to_numpy()
    named = {tuple(paths[list(rows)]) for rows in found.copies}
    assert named == {("c0/0.png", "c0/again.png"), ("c1/1.png", "c2/elsewhere.png")}
    assert [tuple(paths[list(rows)]) for rows in found.mislabelled] == [("c1/1.png", "c2/elsewhere.png")]
