"""Which files below a folder are images, and what is said of the others."""

import sys

import numpy as np
import pytest
from PIL import Image

from dml.data.packing import decoding
from dml.data.raw import image_files, walking


@pytest.fixture
def without_heic(monkeypatch):
    """As if `pillow_heif` was not installed."""
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    forget()
    yield
    monkeypatch.undo()
    forget()


def forget():
    walking.suffixes.cache_clear()
    decoding._formats.cache_clear()


def test_heic_is_read_where_its_package_is_installed(tmp_path):
    pytest.importorskip("pillow_heif")
    forget()
    decoding._formats()
    pixels = np.full((8, 6, 3), (200, 30, 90), np.uint8)
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a/0.heic", quality=-1)
    (path,) = image_files(tmp_path).paths
    assert decoding.header(path) == (8, 6, False)
    assert np.abs(np.asarray(decoding.decode(path, 3)).astype(int) - pixels).max() <= 3


def test_heic_without_its_package_names_it(without_heic, tmp_path):
    """Whatever the file's name ends with: a table may name it, and telephones call it .jpg."""
    (tmp_path / "0.jpg").write_bytes(b"\0\0\0\x1cftypheic\0\0\0\0mif1heic")
    for image in (tmp_path / "0.jpg", (tmp_path / "0.jpg").read_bytes()):
        with pytest.raises(decoding.CorruptImage, match=r"pip install 'noisy-dml\[heic\]'"):
            decoding.header(image)
    with pytest.raises(decoding.CorruptImage, match="not a JPEG"):
        decoding.header(b"no image at all")
