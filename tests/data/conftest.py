"""Helpers of the data tests: `small_archives` writes raw files, `made_source` is a source of given images."""

import sys
from pathlib import Path

import pytest
from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@pytest.fixture
def written(tmp_path):
    """Writes images of one grey value below `tmp_path/root`."""

    def write(*paths):
        for number, name in enumerate(paths):
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (10 * number,) * 3).save(path)
        return str(tmp_path / "root")

    return write
