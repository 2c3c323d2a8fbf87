"""Cars196: 16,185 photographs of 196 models of cars (Krause et al. 2013).

The first 98 classes train (8,054 images), the other 98 test (8,131). The original host no longer serves the files, so
put them in place by hand or use a mirror. Two layouts contain the same images and classes:

- `combined`: car_ims.tgz and cars_annos.mat, which the metric-learning papers read;
- `separate`: cars_train.tgz, cars_test.tgz, car_devkit.tgz and cars_test_annos_withlabels.mat, which torchvision reads.

MD5 sums of `combined`: public loaders. SHA-256 sums of `separate`: TensorFlow Datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, halves, label, mat, structs
from dml.settings import check_choice

GONE = "The original host (ai.stanford.edu/~jkrause/cars) no longer serves the dataset; data platforms offer copies."
CLASSES = 196
LAYOUTS: Mapping[str, tuple[Archive, ...]] = {
    "combined": (
        Archive("car_ims.tgz", md5="d5c8f0aa497503f355e17dc7886c3f14", hint=GONE),
        Archive("cars_annos.mat", md5="b407c6086d669747186bd1d764ff9dbc", extract=False, hint=GONE),
    ),
    "separate": (
        Archive("cars_train.tgz", sha256="512b227b30e2f0a8aab9e09485786ab4479582073a144998da74d64b801fd288", hint=GONE),
        Archive("cars_test.tgz", sha256="bffea656d6f425cba3c91c6d83336e4c5f86c6cffd8975b0f375d3a10da8e243", hint=GONE),
        Archive("car_devkit.tgz", sha256="b97deb463af7d58b6bfaa18b2a4de9829f0f79e8ce663dfa9261bf7810e9accd", hint=GONE),
        Archive(
            "cars_test_annos_withlabels.mat",
            sha256="790f75be8ea34eeded134cc559332baf23e30e91367e9ddca97d26ed9b895f05",
            extract=False,
            hint=GONE,
        ),
    ),
}


class Cars196(FetchedSource):
    """Cars, RGB (a few grey), of many sizes.

    Parameters
    ----------
    layout : which archives to read, `combined` or `separate`.
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cars196"
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 8054, "fine": 98},
        "test": {"images": 8131, "fine": 98},
    }

    def __init__(self, layout: str = "combined", complete: bool = True) -> None:
        check_choice("layout", layout, tuple(LAYOUTS))
        super().__init__(complete)
        self.layout = layout
        self.options = {"layout": layout, "complete": complete}
        self.archives = LAYOUTS[layout]

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of the annotations; `separate` has the training part first."""
        if self.layout == "combined":
            table = raw / "cars_annos.mat"
            content = mat(table, "annotations", "class_names")
            names = np.atleast_1d(content["class_names"])
            for entry in structs(content, "annotations", table, "relative_im_path", "class", "test"):
                part = "test" if entry["test"] else "train"
                yield _record(raw, table, str(entry["relative_im_path"]), entry["class"], names, part)
            return
        names = np.atleast_1d(mat(raw / "devkit" / "cars_meta.mat", "class_names")["class_names"])
        tables = {"train": raw / "devkit" / "cars_train_annos.mat", "test": raw / "cars_test_annos_withlabels.mat"}
        for part, table in tables.items():
            for entry in structs(mat(table, "annotations"), "annotations", table, "fname", "class"):
                yield _record(raw, table, f"cars_{part}/{entry['fname']}", entry["class"], names, part)

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-98) and test (99-196)."""
        return halves(index["fine"].to_numpy(), last=97)


def _record(raw: Path, table: Path, path: str, number: Any, names: np.ndarray, part: str) -> dict[str, Any]:
    fine = label(number, min(CLASSES, len(names)), f"{table}: {path}")
    return {"image": raw / path, "fine": fine, "fine_name": str(names[fine]), "path": path, "part": part}
