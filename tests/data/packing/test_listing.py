"""What a source stumbles on while its images are listed, as one kind of error."""

import struct

import numpy as np
import pytest

from dml.data import DataError
from dml.data._listing import list_images


def quiet(line):
    pass


class Broken:
    """A source whose raw files it fails to read after one image."""

    name, levels = "broken", ("fine",)

    def __init__(self, error, image=None):
        self.error, self.image = error, image

    def images(self, raw):
        yield {"image": np.zeros((4, 4), np.uint8), "fine": 0, "path": "0.png"}
        if self.error is not None:
            raise self.error
        yield {"image": self.image, "fine": 0, "path": "1.png"}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "error",
    [
        KeyError("label"),
        IndexError("list index out of range"),
        ValueError("invalid literal"),
        TypeError("not subscriptable"),
        AttributeError("no attribute"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        AssertionError("odd"),
        OverflowError("too large"),
        struct.error("unpack requires 4 bytes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_source_stumbles_on_is_an_error_of_its_data(error, workers, tmp_path):
    with pytest.raises(DataError, match=r"broken: .* holds other files than expected: after 1 images: ") as raised:
        list_images(Broken(error), tmp_path, workers, quiet)
    assert f"{type(error).__name__}: {error}" in str(raised.value)
    assert raised.value.__cause__ is error


def test_a_sources_own_error_is_left_as_it_is(tmp_path):
    with pytest.raises(DataError, match=r"^labels\.txt: row 3$"):
        list_images(Broken(DataError("labels.txt: row 3")), tmp_path, 1, quiet)


@pytest.mark.parametrize("image", [np.zeros((4, 4)), np.zeros((4, 4, 2), np.uint8)], ids=["float", "two channels"])
def test_an_array_that_is_no_image(image, tmp_path):
    with pytest.raises(
        DataError, match=r"1\.png: expected uint8 \(H, W\) or .*, got an array of (float64|\(4, 4, 2\))"
    ):
        list_images(Broken(None, image), tmp_path, 1, quiet)
