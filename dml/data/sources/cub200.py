"""CUB-200-2011: 11,788 photographs of 200 kinds of birds (Wah et al. 2011).

The first 100 classes train (5,864 images), the other 100 test (5,924), as in all of the papers. `part` is the dataset's
own split of the images, which metric learning does not use.

URL: CaltechDATA record 65de6-vp158. MD5: public loaders. SHA-256: TensorFlow Datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, entry, halves, label, rows

CLASSES = 200


class Cub200(FetchedSource):
    """Birds, RGB, of many sizes.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cub200"
    archives: Sequence[Archive] = (
        Archive(
            "CUB_200_2011.tgz",
            ("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",),
            md5="97eceeb196236b17998738112f37df78",
            sha256="0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 5864, "fine": 100},
        "test": {"images": 5924, "fine": 100},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of `images.txt`."""
        folder = raw / "CUB_200_2011"
        tables = [folder / f"{name}.txt" for name in ("classes", "image_class_labels", "train_test_split")]
        names, labels, train = (dict(rows(table, 2)) for table in tables)
        for image, path in rows(folder / "images.txt", 2):
            number = entry(labels, image, tables[1])
            fine = label(number, CLASSES, f"{tables[1]}: image {image}")
            yield {
                "image": folder / "images" / path,
                "fine": fine,
                "fine_name": entry(names, number, tables[0]),
                "path": f"CUB_200_2011/images/{path}",
                "part": "train" if entry(train, image, tables[2]) == "1" else "test",
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-100) and test (101-200)."""
        return halves(index["fine"].to_numpy(), last=99)
