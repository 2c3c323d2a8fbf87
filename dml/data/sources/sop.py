"""Stanford Online Products: 120,053 photographs of 22,634 products of 12 kinds (Oh Song et al. 2016).

Fine is the product, coarse its kind. The split is the dataset's own and class-disjoint: 11,318 products train (59,551
images), 11,316 test (60,502).

URLs: the authors' server, by HTTP and FTP. MD5: public loaders. SHA-256: TensorFlow Datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, label, rows

FOLDER = "Stanford_Online_Products"
PRODUCTS, KINDS = 22634, 12


class Sop(FetchedSource):
    """Products, RGB (a few grey), of many sizes.

    Parameters
    ----------
    complete : False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "sop"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    archives: Sequence[Archive] = (
        Archive(
            f"{FOLDER}.zip",
            (
                f"http://ftp.cs.stanford.edu/cs/cvgl/{FOLDER}.zip",
                f"ftp://cs.stanford.edu/cs/cvgl/{FOLDER}.zip",
            ),
            md5="7f73d41a2f44250d4779881525aea32e",
            sha256="b04fa78210e69fab050ce73939550e1cd0f96890bdd98ec9fee732c3b756ef48",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 59551, "fine": 11318, "coarse": 12},
        "test": {"images": 60502, "fine": 11316, "coarse": 12},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of `Ebay_train.txt`, then `Ebay_test.txt`."""
        folder = raw / FOLDER
        for part in ("train", "test"):
            table = folder / f"Ebay_{part}.txt"
            for image, product, kind, path in rows(table, 4, header=True):
                yield {
                    "image": folder / path,
                    "fine": label(product, PRODUCTS, f"{table}: image {image}: class_id"),
                    "coarse": label(kind, KINDS, f"{table}: image {image}: super_class_id"),
                    "fine_name": product,
                    "coarse_name": path.split("/")[0].removesuffix("_final"),
                    "path": f"{FOLDER}/{path}",
                    "part": part,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """The dataset's own train and test."""
        return index["part"].to_numpy().astype(str)
