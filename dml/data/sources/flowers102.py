"""Oxford 102 Flowers: 8,189 photographs of 102 kinds of flowers (Nilsback and Zisserman 2008).

The first 51 classes train, the other 51 test: the usual class-disjoint halves of this dataset. The label-noise paper
(Le and Odobez) names the dataset but not its split. `part` is the dataset's own split of the images (train, val, test),
whose classes are not disjoint. No source at hand states the number of images in each half, so only the total is
checked.

URLs and MD5 sums: torchvision.datasets.Flowers102.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, halves, label, mat

URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
CLASSES = 102
PARTS = {"trnid": "train", "valid": "val", "tstid": "test"}


def _archive(name: str, md5: str, extract: bool = False) -> Archive:
    return Archive(name, (URL + name,), md5=md5, extract=extract)


class Flowers102(FetchedSource):
    """Flowers, RGB, of many sizes.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "flowers102"
    archives: Sequence[Archive] = (
        _archive("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa", extract=True),
        _archive("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        _archive("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"fine": 51},
        "test": {"fine": 51},
        "all": {"images": 8189},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files by number."""
        table = raw / "imagelabels.mat"
        labels = np.atleast_1d(mat(table, "labels")["labels"]).tolist()
        sets = mat(raw / "setid.mat", *PARTS)
        parts = {int(image): part for key, part in PARTS.items() for image in np.atleast_1d(sets[key])}
        for number, value in enumerate(labels, start=1):
            fine = label(value, CLASSES, f"{table}: image {number}")
            path = f"jpg/image_{number:05d}.jpg"
            yield {
                "image": raw / path,
                "fine": fine,
                "fine_name": f"{fine + 1:03d}",
                "path": path,
                "part": parts.get(number, ""),
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-51) and test (52-102)."""
        return halves(index["fine"].to_numpy(), last=50)
