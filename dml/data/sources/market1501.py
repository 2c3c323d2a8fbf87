"""Market-1501: 32,668 pictures of 1,501 persons by six cameras (Zheng et al. 2015).

A file's name states the person and the camera: `0002_c1s1_000451_03.jpg`. 751 persons train (12,936 images). The other
750 persons are queried (3,368 images) against the gallery (15,913 images). The gallery includes 2,798 distractors
(person 0000), detections of nobody that are wrong for every query. 3,819 junk boxes (person -1) are `unused`. Fine is
the person's number, and `camera` counts from 0. The evaluation skips gallery images of the query's person by the
query's camera.

MD5: public loaders. The authors offer the archive on file hosts without a direct download.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, files, label

FOLDER = "Market-1501-v15.09.15"
PARTS = {"bounding_box_train": "train", "query": "query", "bounding_box_test": "gallery"}
PERSONS, JUNK = 1501, 1502
NAME = re.compile(r"(-1|\d{4})_c([1-6])")


class Market1501(FetchedSource):
    """Persons, 128 x 64 RGB.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "market1501"
    shape: ClassVar[tuple[int, int, int] | None] = (128, 64, 3)
    archives: Sequence[Archive] = (
        Archive(
            f"{FOLDER}.zip",
            md5="65005ab7d12ec1c44de4eeafe813e68a",
            hint="The authors link it from http://www.liangzheng.org/Project/project_reid.html",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 12936, "fine": 751},
        "query": {"images": 3368, "fine": 750},
        "gallery": {"images": 15913, "fine": 751},
        "unused": {"images": 3819},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files: training, query and gallery, each by name."""
        for folder, part in PARTS.items():
            for path in files(raw / FOLDER / folder, ".jpg"):
                found = NAME.match(path.name)
                if found is None:
                    raise DataError(f"{path}: expected a name such as 0002_c1s1_000451_03.jpg")
                person = found[1]
                yield {
                    "image": path,
                    "fine": JUNK if person == "-1" else label(person, 1 + PERSONS, path, first=0),
                    "fine_name": {"-1": "junk", "0000": "distractor"}.get(person, person),
                    "path": path.relative_to(raw).as_posix(),
                    "part": part,
                    "camera": int(found[2]) - 1,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train, query, gallery (with the distractors), and unused for junk."""
        junk = index["fine"].to_numpy() == JUNK
        return np.where(junk, "unused", index["part"].to_numpy().astype(str))
