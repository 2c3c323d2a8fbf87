"""Whatever goes wrong while a source's images are listed is one kind of error."""

import struct

import numpy as np
import pytest
from small_archives import quiet

from dml.data import DataError
from dml.data.packing.listing import list_images
from dml.data.sources._files import SourceDefaults


class Broken(SourceDefaults):
    """A source that fails after its first image."""

    version, name, options = 1, "broken", {}

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
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        struct.error("unpack requires 4 bytes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_error_about_raw_files_becomes_a_data_error(error, workers, tmp_path):
    with pytest.raises(DataError, match=r"broken: .*after 1 images: ") as raised:
        list_images(Broken(error), tmp_path, workers, quiet)
    assert f"{type(error).__name__}: {error}" in str(raised.value)
    assert raised.value.__cause__ is error
