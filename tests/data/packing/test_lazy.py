"""Images decoded when their rows are requested."""

import pickle

import numpy as np
import pytest
from made_source import Made, arrays
from PIL import Image
from small_archives import quiet

from dml.data import DataError
from dml.data.packing import open_packed, pack


@pytest.fixture
def files(tmp_path):
    """Twelve JPEG files of several sizes."""
    paths = []
    for number, size in enumerate([(20, 24), (30, 22), (17, 40)] * 4):
        path = tmp_path / "raw" / f"{number:02d}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(arrays(1, number, (*size, 3))[0]).save(path)
        paths.append(path)
    return paths


@pytest.mark.parametrize("rows", [3, -1, slice(2, 9, 3), [4, 0, 4], np.array([1, 11]), np.arange(12) % 2 == 0])
def test_lazy_gives_the_same_pixels_and_digest(rows, files, tmp_path):
    raw = tmp_path / "raw"
    eager = pack(Made(files), raw, tmp_path / "eager", 16, report=quiet)
    lazy = pack(Made(files), raw, tmp_path / "lazy", 16, report=quiet, decode="lazy")
    assert lazy["digest"] == eager["digest"]
    assert not (tmp_path / "lazy" / "images.npy").exists()
    expected, got = open_packed(tmp_path / "eager").images, open_packed(tmp_path / "lazy").images
    assert got.shape == expected.shape
    assert len(got) == 12
    np.testing.assert_array_equal(got[rows], expected[rows])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(got))[rows], expected[rows])


def test_lazy_says_what_has_changed_since(files, tmp_path):
    raw = tmp_path / "raw"
    pack(Made(files), raw, tmp_path / "lazy", 16, report=quiet, decode="lazy")
    images = open_packed(tmp_path / "lazy").images
    files[3].write_bytes(b"gone bad")
    with pytest.raises(DataError, match=r"03\.jpg: not a JPEG, .* or AVIF image; the image was valid"):
        images[[1, 3]]
    files[3].unlink()
    with pytest.raises(DataError, match=r"03\.jpg: the file is missing"):
        images[3]
    with pytest.raises(IndexError):
        images[12]


def test_lazy_needs_files(tmp_path):
    with pytest.raises(DataError, match="decode='lazy' needs one file per image"):
        pack(Made(arrays(3)), tmp_path, tmp_path / "out", report=quiet, decode="lazy")
