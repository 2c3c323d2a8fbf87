"""CUB-200-2011: 11,788 photographs of 200 kinds of birds (Wah et al. 2011).

The first 100 classes train (5,864 images), the other 100 test (5,924), as in all of the papers; `part` is the dataset's
own split of the images, which metric learning does not use.

URL: CaltechDATA record 65de6-vp158. MD5 and SHA-256 as public loaders state them (the SHA-256 is TensorFlow Datasets').
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.download import Archive, fetch
from dml.data.sources._files import halves, rows


class Cub200:
    """Birds, RGB of many sizes.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    name: ClassVar[str] = "cub200"
    levels: ClassVar[tuple[str, ...]] = ("fine",)
    archives: ClassVar[tuple[Archive, ...]] = (
        Archive(
            "CUB_200_2011.tgz",
            ("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",),
            md5="97eceeb196236b17998738112f37df78",
            sha256="0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081",
        ),
    )
    counts: ClassVar[Mapping[str, Mapping[str, int]]] = {
        "train": {"images": 5864, "fine": 100},
        "test": {"images": 5924, "fine": 100},
    }

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Fetch, verify and unpack the archive (1.2 GB) into `raw`."""
        fetch(self, raw, report)

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of `images.txt`."""
        folder = raw / "CUB_200_2011"
        names = dict(rows(folder / "classes.txt", 2))
        labels = dict(rows(folder / "image_class_labels.txt", 2))
        train = {image: flag == "1" for image, flag in rows(folder / "train_test_split.txt", 2)}
        for image, path in rows(folder / "images.txt", 2):
            yield {
                "image": folder / "images" / path,
                "fine": int(labels[image]) - 1,
                "fine_name": names[labels[image]],
                "path": f"CUB_200_2011/images/{path}",
                "part": "train" if train[image] else "test",
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-100) and test (101-200)."""
        return halves(index["fine"].to_numpy(), last=99)
