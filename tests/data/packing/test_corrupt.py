"""Corrupt images, images of several sizes, and labels that are not integers."""

import numpy as np
import pytest
from made_source import Made, arrays, png
from PIL import Image
from small_archives import quiet

from dml.data import DataError
from dml.data.packing import open_packed, pack


def test_corrupt_images_are_fatal_by_default_and_all_listed(tmp_path):
    images = [png(image) for image in arrays(5)]
    images[1], images[3] = b"", images[3][:60]
    with pytest.raises(DataError) as raised:
        pack(Made(images), tmp_path, tmp_path / "out", report=quiet)
    assert "2 of 5 images are corrupt" in str(raised.value)
    assert "001: an empty file" in str(raised.value)
    assert "003: cannot be decoded: " in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"out.lock"}


def test_corrupt_images_are_skipped_by_choice_and_listed(tmp_path):
    images = [png(image) for image in arrays(5)]
    images[1], images[3] = b"", images[3][:60]
    manifest = pack(Made(images), tmp_path, tmp_path / "out", on_corrupt="skip", report=quiet)
    data = open_packed(tmp_path / "out")
    assert [entry["path"] for entry in manifest["skipped"]] == ["001", "003"]
    assert data.index["path"].tolist() == ["000", "002", "004"]
    assert data.index["index"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.images[:, :, :, 0], np.stack(arrays(5))[[0, 2, 4]])
    assert (tmp_path / "out" / "images.npy").stat().st_size == 128 + 3 * 30


def test_missing_files_are_an_error_unless_a_part_of_the_dataset_is_accepted(tmp_path):
    source, lines = Made([png(arrays(1)[0]), tmp_path / "none.png"]), []
    with pytest.raises(DataError, match=r"^made: 1 of 2 files are missing: none\.png$"):
        pack(source, tmp_path, tmp_path / "out", on_corrupt="skip", report=lines.append)
    source.complete = False
    pack(source, tmp_path, tmp_path / "out", on_corrupt="skip", report=lines.append)
    assert lines[-1].endswith("1 image packed, 1 skipped: none.png (the file is missing)")


def test_copies_and_classes_without_an_image_are_in_the_manifest(tmp_path):
    """Rows are those of the packed array. Files may differ whose pixels do not."""
    pixels, paths = arrays(4), [tmp_path / f"{number}.{kind}" for number, kind in enumerate("pbpppb")]
    for path, number in zip(paths, (0, 1, 2, 0, 3, 0), strict=True):
        Image.fromarray(pixels[number]).save(path, "BMP" if path.suffix == ".b" else "PNG")
    paths[1].write_bytes(b"")
    source, lines = Made(paths, labels=[0, 1, 2, 0, 2, 0]), []
    manifest = pack(source, tmp_path, tmp_path / "o", on_corrupt="skip", report=lines.append)
    assert manifest["copies"] == [[0, 2, 4]]
    assert manifest["lost_classes"] == "1 class without an image that can be decoded: 1"
    assert f"made: {manifest['lost_classes']}" in lines
    whole = pack(Made(arrays(3)), tmp_path, tmp_path / "whole", report=quiet)
    assert not {"copies", "lost_classes"} & set(whole)
