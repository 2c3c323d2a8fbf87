"""A source of images that a test gives it, and what packing made of them."""

import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from PIL import Image

from dml.data.sources._files import SourceDefaults


class Made(SourceDefaults):
    """Images are arrays, bytes, or the files of a folder."""

    version: ClassVar[int] = 1
    name: ClassVar[str] = "made"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, images, labels=None, counts=None, content=None):
        self.pictures, self.labels = images, labels or [n % 3 for n in range(len(images))]
        self.counts, self.content = counts or {}, content

    def images(self, raw):
        for number, (image, label) in enumerate(zip(self.pictures, self.labels, strict=True)):
            path = image.relative_to(raw).as_posix() if isinstance(image, Path) else f"{number:03d}"
            yield {"image": image, "fine": label, "coarse": 0, "path": path, "part": "all"}

    def roles(self, index: pd.DataFrame):
        return np.full(len(index), "train")


def arrays(count, seed=0, shape=(6, 5)):
    """Random images."""
    return list(np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8))


def png(array):
    """An encoded image."""
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def packed_bytes(folder):
    """The content of each file of a packed folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
