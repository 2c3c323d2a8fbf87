"""Market-1501: 32,668 pictures of 1,501 persons by six cameras (Zheng et al. 2015).

A file's name holds person and camera: `0002_c1s1_000451_03.jpg`. 751 persons train (12,936 images); 750 others are
queried (3,368) against the gallery (15,913, of which 2,798 are distractors, person 0000: detections of nobody, wrong
for every query). 3,819 junk boxes (person -1) count neither way: `unused`. Fine is the person's number; `camera` counts
from 0. That the gallery's images of the query's person by the query's camera are passed over is the evaluation's rule.

MD5 as public loaders state it. The authors offer it on file hosts that serve no direct download.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data import DataError
from dml.data.download import Archive, fetch
from dml.data.sources._files import files, label

FOLDER = "Market-1501-v15.09.15"
PARTS = {"bounding_box_train": "train", "query": "query", "bounding_box_test": "gallery"}
PERSONS, JUNK = 1501, 1502
NAME = re.compile(r"(-1|\d{4})_c([1-6])")


class Market1501:
    """Persons, 128 x 64 RGB.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    name: ClassVar[str] = "market1501"
    levels: ClassVar[tuple[str, ...]] = ("fine",)
    archives: ClassVar[tuple[Archive, ...]] = (
        Archive(
            f"{FOLDER}.zip",
            md5="65005ab7d12ec1c44de4eeafe813e68a",
            hint="Its authors link it from http://www.liangzheng.org/Project/project_reid.html",
        ),
    )
    counts: ClassVar[Mapping[str, Mapping[str, int]]] = {
        "train": {"images": 12936, "fine": 751},
        "query": {"images": 3368, "fine": 750},
        "gallery": {"images": 15913, "fine": 751},
        "unused": {"images": 3819},
    }

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete

    def download(self, raw: Path, report: Callable[[str], None] = print) -> None:
        """Take the archive from `raw` or a mirror, verify and unpack it."""
        fetch(self, raw, report)

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
        """train, query, gallery (distractors among it), and unused for junk."""
        junk = index["fine"].to_numpy() == JUNK
        return np.where(junk, "unused", index["part"].to_numpy().astype(str))
